-- The paper's form of cope in the decoder of an encoder-decoder, with added vectors and dropout of weights. A key and
-- its value fit in one of the widest vectors (tests/unit/test_random.c).
return {
  task     = { kind = "duplicate_string" },
  encoding = { use = "cope", relative = { divided = false }, additive = { kind = "sinusoid" } },
  model    = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2, heads = 4, width = 16,
    feedforward = 32, dropout = 0.1, attention_dropout = 0.2 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
