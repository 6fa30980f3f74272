-- Lengths mixed within a batch, which read parts of the longest sequences' rows of distances, in three attentions
-- (tests/unit/test_mixed.c).
return {
  task     = { kind = "stack_manipulation" },
  encoding = { kind = "relative", cross = { relative = { kind = "transformer_xl" } } },
  model    = { kind = "encoder_decoder", encoder_layers = 2, decoder_layers = 2, heads = 2, width = 16,
    feedforward = 32, dropout = 0.1 },
  train    = { use = "ruoss", lengths = { 1, 9, per = "sequence" } },
  eval     = { lengths = { 1, 9 }, examples = 4 },
  precision = "float64",
}
