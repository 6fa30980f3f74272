-- An encoder-decoder with norms after the sums, without positions.
return {
  task     = { kind = "duplicate_string" },
  encoding = { kind = "none" },
  model    = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2, dropout = 0,
    heads = 2, width = 16, feedforward = 32 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
