-- Tables by query and by key, a window: device code in the emulation compared with the CPU half
-- (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { score = function(x) return x.score + sin(x.rate * x.query) * cos(x.rate * x.key + x.shift) end,
    parameters = { rate = { per = "layer", init = 0.3 }, shift = { per = "head", init = 1 } },
    mask = { kind = "window", left = 3, right = 2 }, positions = { kind = "randomized", max_position = 128, sorted = false, reading = "difference" } },
  model = { layers = 2, heads = 4, width = 32, feedforward = 48, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
