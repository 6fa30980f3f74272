-- Sticks that start at the query's own key, whose rests multiply its own value, with rotations, in the decoder of an
-- encoder-decoder (tests/unit/test_random.c).
return {
  task     = { kind = "duplicate_string" },
  encoding = { use = "stick_breaking", normaliser = { own_key = true, rest = "own_value" },
    decoder = { rotation = { kind = "rope" } } },
  model    = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2, heads = 4, width = 16,
    feedforward = 32, dropout = 0.1 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
