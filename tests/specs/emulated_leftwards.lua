-- Queries that visit their keys leftwards: sticks with rests in the encoder, counts in the decoder: device code in
-- the emulation compared with the CPU half, also decoding (tests/emulation/test_model.c).
return {
  task = { kind = "duplicate_string" },
  encoding = { encoder = { use = "stick_breaking", normaliser = { rest = "own_value" } },
    decoder = { use = "cope", relative = { rows = 6 } }, cross = {} },
  model = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2, heads = 4, width = 32, feedforward = 48,
    dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
