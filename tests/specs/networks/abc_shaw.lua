-- Vectors of clipped distances in both attentions.
-- The model of tests/reference/abc_shaw.safetensors.
return {
  task     = { kind = "successor", options = { width = 7, numbers = 64 } },
  encoding = { use = "shaw", relative = { clip = 2 }, decoder = { relative = { sides = "both" } },
    cross = { relative = { clip = 2 } } },
  model    = { use = "duan_encoder_decoder", encoder_layers = 0, decoder_layers = 1, heads = 4, width = 16,
    feedforward = 16, dropout = 0 },
  train    = { use = "duan", batch = 16, epochs = 1 },
  eval     = { splits = { "test" }, by = { digits = { 1, 3 } } },
  precision = "float64",
}
