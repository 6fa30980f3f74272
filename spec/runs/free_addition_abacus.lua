-- Addition of numbers of up to 10 digits with Abacus embeddings, tested on up to 20 digits.
return {
  task = { kind = "free_addition", options = { longest = 10 } },
  encoding = { kind = "abacus" },
  model = { kind = "decoder", layers = 2, heads = 4, width = 128, feedforward = 512, dropout = 0 },
  train = { batch = 128, steps = 10000, learning_rate = 1e-3 },
  eval = { by = { digits = { 1, 20 } }, examples = 100 },
}
