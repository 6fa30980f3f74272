-- Passes of two layers that start from zeros, each with the embedding added to its input and a norm at its end (Fan et
-- al. 2024); compared with the reference network, also at another number of passes than in training.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "none" },
  model = { layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0.1, norm = { place = "pre" },
    activation = "gelu", loops = { times = 3, inject = true, start = "zeros", norm = "inside" } },
  train = { lengths = { 1, 9 } },
  eval = { lengths = { 1, 9 } },
  precision = "float64",
}
