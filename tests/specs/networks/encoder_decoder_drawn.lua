-- Without layers of the encoder: sampled positions of the source are what the decoder attends to, in every form that a
-- distance between two streams has.
return {
  task     = { kind = "odds_first" },
  encoding = { kind = "relative", rotation = { kind = "rope" }, additive = { kind = "learned" },
    positions = { kind = "randomized", max_position = 40, range = "one_based", draw = "pass" },
    decoder = { positions = { reading = "clamped", range = "zero_based" } },
    cross = { use = "fire", relative = { kind = "shaw", clip = 3 } } },
  model    = { kind = "encoder_decoder", encoder_layers = 0, decoder_layers = 2, dropout = 0, heads = 2, width = 16,
    feedforward = 32 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
