-- Positions of digits in their numbers, which the symbols of bucket_sort are (tests/unit/test_draws.c). The weights are
-- those of tests/reference/rand_learned.safetensors.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "learned", positions = { kind = "digits", max_position = 63, offset = 20 } },
  model    = { use = "ruoss_encoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0.1 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
