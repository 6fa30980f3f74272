-- A wide model whose sequences have positions of their own: device code in the emulation compared with the CPU half
-- (tests/emulation/test_model.c).
return {
  task = { kind = "odds_first" },
  encoding = { additive = { kind = "learned", at = "block" },
    positions = { kind = "randomized", max_position = 30, draw = "sequence" } },
  model = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 1, heads = 4, width = 256, feedforward = 48,
    dropout = 0 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
