-- A wide model of two streams: device code in the emulation compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "odds_first" },
  encoding = { kind = "alibi_learned", cross = { use = "alibi_learned" } },
  model = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2, heads = 4, width = 256, feedforward = 48,
    dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
