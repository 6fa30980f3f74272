-- Learned vectors of positions before every block, with a dropout of their own; vectors of distances to the left, a
-- temperature, no product of attention's output: device code in the emulation compared with the CPU half
-- (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = {
    additive = { kind = "learned", at = "block", rows = 64, init = "normal", dropout = 0.2 },
    relative = { kind = "shaw", clip = 6, sides = "left", init_sigma = 1 },
    mask = { kind = "causal" },
    normaliser = { temperature = 0.5 },
    projections = { output = false },
  },
  model = { layers = 2, heads = 2, width = 32, feedforward = 48, dropout = 0.1, bias = "all" },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 }, by = { noise = { list = { 0.5 } } } },
  precision = "float64",
}
