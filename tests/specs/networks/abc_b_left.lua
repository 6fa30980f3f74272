-- Windows without the keys to the right of the anti-diagonal, two keys wide, after a layer of the encoder. The model of
-- tests/reference/abc_b_left.safetensors.
return {
  task     = { kind = "successor", options = { width = 6, numbers = 64 } },
  encoding = { use = "abc_b", additive = { channels = "interleaved" },
    decoder = { mask = { left = 2 } }, cross = { mask = { width = 2, left_only = true } } },
  model    = { use = "duan_encoder_decoder", encoder_layers = 1, decoder_layers = 1, heads = 4, width = 16,
    feedforward = 16, dropout = 0 },
  train    = { use = "duan", batch = 16, epochs = 1 },
  eval     = { splits = { "test" }, by = { digits = { 1, 3 } } },
  precision = "float64",
}
