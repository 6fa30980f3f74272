-- Learned slopes in float64: compared with kernels/ref to the last digits (tests/unit/test_parity.c).
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "alibi_learned", positions = { kind = "randomized", max_position = 64 } },
  model    = { use = "ruoss_encoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
