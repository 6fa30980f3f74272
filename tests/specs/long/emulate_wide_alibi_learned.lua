-- Products by a library, a table by distance, learned: device code in the emulation compared with the CPU half
-- (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "alibi_learned", positions = { kind = "randomized", max_position = 128 } },
  model = { layers = 2, heads = 8, width = 256, feedforward = 272, dropout = 0 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
