-- Learned vectors of positions, which both streams share; tied output, computation tokens.
return {
  task     = { kind = "reverse_string", computation = 1 },
  encoding = { kind = "learned", additive = { rows = 60 } },
  model    = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 1, dropout = 0.1, tied = true,
    heads = 2, width = 16, feedforward = 32 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
