-- Configuration C on digits side by side: windows of pairs, positions repeat 0, 1, 2. The model of
-- tests/reference/abc_c.safetensors.
return {
  task     = { kind = "addition", options = { width = 4, input = "aligned", numbers = 64 } },
  encoding = { use = "abc_c", additive = { channels = "interleaved" }, cross = { mask = { stride = 2 } } },
  model    = { use = "duan_encoder_decoder", encoder_layers = 0, decoder_layers = 1, heads = 4, width = 16,
    feedforward = 16, dropout = 0 },
  train    = { use = "duan", batch = 16, epochs = 1 },
  eval     = { splits = { "test" }, by = { digits = { 1, 3 } } },
  precision = "float64",
}
