-- Layers with encodings in turn: two with vectors of distances that see a window, one that sees all and has no
-- positions; compared with the reference network.
return {
  task = { kind = "reverse_string" },
  encoding = { layers = {
    { kind = "shaw", mask = { kind = "window", left = 3, right = 1 }, times = 2 },
    "none",
  } },
  model = { layers = 6, heads = 2, width = 16, feedforward = 32, dropout = 0.1 },
  train = { lengths = { 1, 9 } },
  eval = { lengths = { 1, 9 } },
  precision = "float64",
}
