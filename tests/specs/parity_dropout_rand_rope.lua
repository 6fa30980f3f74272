-- Dropout: compared with kernels/ref, which draws the same bits (tests/unit/test_parity.c).
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "rope", positions = { kind = "randomized", max_position = 64 } },
  model    = { use = "ruoss_encoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0.1 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
}
