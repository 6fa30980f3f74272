-- The preset cable in both stacks of an encoder-decoder, with keys on both sides in the encoder
-- (tests/unit/test_random.c).
return {
  task     = { kind = "duplicate_string" },
  encoding = { use = "cable" },
  model    = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2, heads = 2, width = 16,
    feedforward = 32, dropout = 0.1, attention_dropout = 0.2 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
