-- Vectors of distances, between the streams from a table; norms before the branches.
return {
  task     = { kind = "odds_first" },
  encoding = { kind = "relative", cross = { use = "shaw" } },
  model    = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2, dropout = 0, norm = { place = "pre" },
    heads = 2, width = 16, feedforward = 32 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
