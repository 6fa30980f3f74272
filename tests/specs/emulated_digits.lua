-- Positions of digits in both streams of an encoder-decoder, whose answers have digits, too: device code in the
-- emulation compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "binary_addition" },
  encoding = { kind = "learned", positions = { kind = "digits", max_position = 90, offset = 20 } },
  model = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 1, heads = 2, width = 16, feedforward = 32,
    dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
