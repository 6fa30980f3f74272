-- A wide model whose layers run several times, and learn waves of distances and vectors of positions: device code
-- compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "relative", additive = { kind = "learned", at = "block", rows = 32 } },
  model = { layers = 2, heads = 4, width = 256, feedforward = 64, dropout = 0, loops = { times = 3, inject = true } },
  train = { lengths = { 1, 9 } },
  eval = { lengths = { 1, 9 } },
  precision = "float64",
}
