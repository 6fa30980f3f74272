-- Lengths mixed within a batch, for an encoding with draws and tables in every layer of two streams, with dropout
-- (tests/unit/test_mixed.c).
return {
  task     = { kind = "stack_manipulation" },
  encoding = { kind = "relative", rotation = { kind = "rope" }, additive = { kind = "sinusoid" },
    positions = { kind = "randomized", max_position = 64, sides = "independent" },
    decoder = { relative = { kind = "shaw", clip = 4, sides = "both" }, positions = { reading = "difference" } },
    cross = { relative = { kind = "transformer_xl" }, score = { use = "alibi" } } },
  model    = { kind = "encoder_decoder", encoder_layers = 2, decoder_layers = 2, heads = 2, width = 16,
    feedforward = 32, dropout = 0.1 },
  train    = { use = "ruoss", lengths = { 1, 9, per = "sequence" } },
  eval     = { lengths = { 1, 9 }, examples = 4 },
  precision = "float64",
}
