-- The preset grape_both in a decoder (tests/unit/test_random.c); weights are recomputed in the backward pass.
return {
  task     = { kind = "stack_manipulation" },
  encoding = { use = "grape_both" },
  model    = { use = "ruoss_decoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0,
    norm = { kind = "rms", place = "pre" }, bias = "none" },
  train    = { use = "ruoss", lengths = { 1, 18 }, keep_probabilities = false },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
