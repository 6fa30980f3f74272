-- Passes of two post-norm layers, each with a loss, whose output the next pass reads; compared with the reference
-- network at several numbers of passes.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "shaw" },
  model = { layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0.1, loops = { times = 3, loss = "every" } },
  train = { lengths = { 1, 9 } },
  eval = { lengths = { 1, 9 } },
  precision = "float64",
}
