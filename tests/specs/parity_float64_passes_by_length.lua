-- As many passes as the task length, which start from noise and read only earlier tokens; compared with the reference
-- network at several numbers of passes.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "none", mask = { kind = "window", left = 64, right = 0 } },
  model = { layers = 1, heads = 2, width = 16, feedforward = 32, dropout = 0.1, norm = { place = "pre" },
    loops = { times = "length", norm = "inside", inject = true, start = "noise", deviation = 0.5 } },
  train = { lengths = { 1, 4 } },
  eval = { lengths = { 1, 9 } },
  precision = "float64",
}
