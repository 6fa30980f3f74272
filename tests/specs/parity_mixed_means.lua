-- Lengths mixed within a batch, and the loss as the mean over sequences; a decoder whose positions' differences are rotated
-- (tests/unit/test_mixed.c).
return {
  task     = { kind = "stack_manipulation" },
  encoding = { kind = "relative", positions = { kind = "randomized", max_position = 64, reading = "difference" } },
  model    = { use = "ruoss_decoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0.1 },
  train    = { use = "ruoss", lengths = { 1, 9, per = "sequence" }, loss_mean = "sequence" },
  eval     = { lengths = { 1, 9 }, examples = 4 },
  precision = "float64",
}
