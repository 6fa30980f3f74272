-- Two streams with draws of their own in every layer, of positions and of distances to both sides: device code in the
-- emulation compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "duplicate_string" },
  encoding = { kind = "relative", rotation = { kind = "rope" }, additive = { kind = "sinusoid" },
    positions = { kind = "randomized", max_position = 140, sides = "independent" },
    decoder = { relative = { kind = "shaw", clip = 4, sides = "both" }, positions = { reading = "difference" } },
    cross = { relative = { kind = "transformer_xl" }, score = { use = "alibi_learned" } } },
  model = { kind = "encoder_decoder", encoder_layers = 2, decoder_layers = 2, heads = 4, width = 32, feedforward = 48,
    dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
