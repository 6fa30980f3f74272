-- Configuration A on plain sums, with the paper's order of channels.
-- The model of tests/reference/abc_a.safetensors.
return {
  task     = { kind = "addition", options = { width = 4, numbers = 64 } },
  encoding = { use = "abc_a", additive = { channels = "interleaved" } },
  model    = { use = "duan_encoder_decoder", encoder_layers = 0, decoder_layers = 2, heads = 4, width = 16,
    feedforward = 16, dropout = 0 },
  train    = { use = "duan", batch = 16, epochs = 1 },
  eval     = { splits = { "test" }, by = { digits = { 1, 3 } } },
  precision = "float64",
}
