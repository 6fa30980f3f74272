-- Every family by a scheme of its own.
return {
  task     = { kind = "odds_first" },
  encoding = { kind = "t5", encoder = { use = "geometric", score = { kind = "none" } },
    cross = { score = { use = "log_length" } } },
  model    = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 1, dropout = 0,
    heads = 2, width = 16, feedforward = 32 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
