-- Sampled positions: one draw per stream for every sequence.
return {
  task     = { kind = "odds_first" },
  encoding = { kind = "label", rotation = { kind = "rope" }, positions = { max_position = 40 } },
  model    = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 1, dropout = 0, heads = 2, width = 16,
    feedforward = 32 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
