-- Configuration B, the unchanged preset, on one number. The model of tests/reference/abc_b.safetensors.
return {
  task     = { kind = "successor", options = { width = 7, numbers = 64 } },
  encoding = { use = "abc_b" },
  model    = { use = "duan_encoder_decoder", encoder_layers = 0, decoder_layers = 1, heads = 4, width = 16,
    feedforward = 16, dropout = 0 },
  train    = { use = "duan", batch = 16, epochs = 1 },
  eval     = { splits = { "test" }, by = { digits = { 1, 3 } } },
  precision = "float64",
}
