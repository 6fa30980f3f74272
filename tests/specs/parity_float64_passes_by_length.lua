-- As many passes as the task length, which starts from the embedding and reads only earlier tokens; compared with the
-- reference network at several numbers of passes.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "none", mask = { kind = "window", left = 64, right = 0 } },
  model = { layers = 1, heads = 2, width = 16, feedforward = 32, dropout = 0.1, norm = { place = "pre" },
    loops = { times = "length", norm = "inside" } },
  train = { lengths = { 1, 4 } },
  eval = { lengths = { 1, 9 } },
  precision = "float64",
}
