-- Two layers of an encoder with the facet `gate` inside a window, after a score that changes gradients of logits.
return {
  task = { kind = "reverse_string" },
  encoding = { gate = { kind = "distance" }, mask = { kind = "window", left = 6, right = 6 },
    score = function(x) return 3 * tanh(x.score / 3) end },
  model = { layers = 2, heads = 4, width = 16, feedforward = 16, attention_dropout = 0.2 },
  train = { batch = 4, shards = 2, learning_rate = 1e-2, steps = 40, lengths = { 1, 10 }, log_every = 20 },
  eval = { lengths = { list = { 1, 4 } }, examples = 4 },
  precision = "float64",
}
