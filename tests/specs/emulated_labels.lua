-- Every sequence with positions of its own, from 1 on, for a learned table and for turns; dropout on in evaluation:
-- device code in the emulation against the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "learned", rotation = { kind = "rope" },
    positions = { kind = "randomized", max_position = 128, draw = "sequence", range = "one_based", sorted = false } },
  model = { layers = 2, heads = 4, width = 32, feedforward = 48, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 }, dropout = true },
  precision = "float64",
}
