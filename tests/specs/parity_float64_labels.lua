-- Every sequence with positions of its own, from 1 on; dropout active in evaluation (tests/unit/test_draws.c). The
-- weights are those of tests/reference/rand_learned.safetensors.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "learned", positions = { kind = "randomized", max_position = 64, draw = "sequence", range = "one_based" } },
  model    = { use = "ruoss_encoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0.1 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4, dropout = true },
  precision = "float64",
}
