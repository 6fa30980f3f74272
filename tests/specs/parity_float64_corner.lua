-- The first query of every head of cross-attention sees the last key alone, although no head has a line.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "sinusoid", cross = { lines = { list = {}, zero_corner = "all" } } },
  model    = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 1, heads = 2, width = 16,
    feedforward = 32, dropout = 0.1 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
