-- Rotary encoding in all three attentions.
-- The model of tests/reference/abc_rope.safetensors.
return {
  task     = { kind = "addition", options = { width = 4, numbers = 64 } },
  encoding = { use = "rope" },
  model    = { use = "duan_encoder_decoder", encoder_layers = 1, decoder_layers = 1, heads = 4, width = 16,
    feedforward = 16, dropout = 0 },
  train    = { use = "duan", batch = 16, epochs = 1 },
  eval     = { splits = { "test" }, by = { digits = { 1, 3 } } },
  precision = "float64",
}
