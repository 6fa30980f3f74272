-- Passes of a post-norm layer from the embedding, in training after passes without gradient (McLeish et al. 2024);
-- compared with the reference network at several numbers of passes.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "learned" },
  model = { layers = 1, heads = 2, width = 16, feedforward = 32, dropout = 0.1,
    loops = { times = 5, progressive = true } },
  train = { lengths = { 1, 9 } },
  eval = { lengths = { 1, 9 } },
  precision = "float64",
}
