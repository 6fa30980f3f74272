-- A post-norm decoder whose passes add the embedding and end with an incomplete turn of the list of encodings; compared
-- with the reference network, also at other numbers of passes.
return {
  task = { kind = "reverse_string" },
  encoding = { layers = {
    { use = "rope", mask = { kind = "window", left = 3, right = 0 }, times = 2 },
    "none",
  } },
  model = { kind = "decoder", layers = 8, heads = 2, width = 16, feedforward = 32, dropout = 0.1,
    loops = { times = 2, inject = true } },
  train = { lengths = { 1, 9 } },
  eval = { lengths = { 1, 9 } },
  precision = "float64",
}
