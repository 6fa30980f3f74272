-- Learned vectors of sampled positions in the blocks of two streams: device code in the emulation compared with the CPU
-- half (tests/emulation/test_model.c).
return {
  task = { kind = "duplicate_string" },
  encoding = { additive = { kind = "learned", at = "block", dropout = 0.2 },
    positions = { kind = "randomized", max_position = 140, range = "one_based" } },
  model = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2, heads = 4, width = 32, feedforward = 48,
    dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
