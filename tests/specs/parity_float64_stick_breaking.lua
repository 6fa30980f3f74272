-- The preset stick_breaking in a decoder; weights are recomputed in the backward pass (tests/unit/test_random.c).
return {
  task     = { kind = "stack_manipulation" },
  encoding = { use = "stick_breaking" },
  model    = { use = "ruoss_decoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0,
    norm = { kind = "rms", place = "pre" }, bias = "none" },
  train    = { use = "ruoss", lengths = { 1, 18 }, keep_probabilities = false },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
