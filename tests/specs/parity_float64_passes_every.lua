-- Passes of two pre-norm layers from the embedding, each with a loss; compared with the reference network at several
-- numbers of passes.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "learned" },
  model = { layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0.1, norm = { place = "pre" },
    loops = { times = 3, loss = "every", norm = "inside" } },
  train = { lengths = { 1, 9 } },
  eval = { lengths = { 1, 9 } },
  precision = "float64",
}
