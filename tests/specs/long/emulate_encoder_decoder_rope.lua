-- Two streams with rotations: device code in the emulation compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "odds_first" },
  encoding = { kind = "rope", relative = { kind = "shaw", clip = 4 }, additive = { kind = "learned", rows = 60 },
    decoder = { relative = { sides = "both" } }, cross = { relative = { clip = 4 } } },
  model = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2, heads = 4, width = 32, feedforward = 48,
    dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
