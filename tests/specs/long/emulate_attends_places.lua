-- Positions that are sampled for each attention: device code in the emulation compared with the CPU half
-- (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "rope", relative = { kind = "shaw", clip = 4 }, mask = { kind = "window", left = 6 },
    score = function(x) return x.score + sin(x.rate * x.query) * cos(x.rate * x.key + x.shift) end,
    parameters = { rate = { per = "layer", init = 0.3 }, shift = { per = "head", init = 1 } },
    positions = { kind = "randomized", max_position = 128, reading = "difference" } },
  model = { source = "../descriptions/attends.lua",
    layers = 2, heads = 4, width = 32, feedforward = 48, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
