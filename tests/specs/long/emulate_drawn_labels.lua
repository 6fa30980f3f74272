-- Two streams with positions of their own in every sequence, in the order of the draw; the decoder attends to itself by
-- a draw of distances for the whole pass: device code in the emulation compared with the CPU half
-- (tests/emulation/test_model.c).
return {
  task = { kind = "duplicate_string" },
  encoding = { kind = "label", rotation = { kind = "rope" },
    positions = { max_position = 140, range = "one_based", sorted = false },
    decoder = { use = "alibi", rotation = { kind = "none" }, positions = { draw = "pass" } } },
  model = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 1, heads = 4, width = 32, feedforward = 48,
    dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
