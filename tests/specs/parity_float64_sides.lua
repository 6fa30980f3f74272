-- Distances from 1, sampled for each side, in vectors and in a score (tests/unit/test_draws.c). The weights are those
-- of tests/reference/rand_relative.safetensors.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "relative", score = { use = "alibi" },
    positions = { kind = "randomized", max_position = 64, draw = "pass", sides = "independent", range = "one_based" } },
  model    = { use = "ruoss_encoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
