-- Every sequence with positions of its own, that begin at 1, for a learned table and for rotations; dropout active in
-- evaluation: device code in the emulation compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "learned", rotation = { kind = "rope" },
    positions = { kind = "randomized", max_position = 128, draw = "sequence", range = "one_based", sorted = false } },
  model = { layers = 2, heads = 4, width = 32, feedforward = 48, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 }, dropout = true },
  precision = "float64",
}
