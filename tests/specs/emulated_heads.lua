-- Heads of 40 channels, spread over threads that do not all have as many, vectors of distances and a table by distance: device code in the emulation against the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "relative", positions = { kind = "randomized", max_position = 128 },
    score = { use = "alibi_learned" } },
  model = { layers = 2, heads = 2, width = 80, feedforward = 48, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
