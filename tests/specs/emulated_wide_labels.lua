-- A wide model whose sequences have positions of their own, and whose dropout stays on in evaluation: launches of its
-- phases in the emulation against the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "learned", positions = { kind = "randomized", max_position = 48, draw = "sequence" } },
  model = { layers = 1, heads = 4, width = 256, feedforward = 16, dropout = 0.1 },
  train = { batch = 5, lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 }, dropout = true },
  precision = "float64",
}
