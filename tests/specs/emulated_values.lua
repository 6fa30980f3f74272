-- A causal decoder whose score reads values of tokens, of a map and of products, in sums and alone: device code in the
-- emulation compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = {
    mask = { kind = "causal" },
    score = function(x)
      local penalty = tanh(sum_between(log_sigmoid(x.gate))) * exp(x.of_query) - sum_between(x.summed)
      return x.score + penalty + x.distance * x.strength * sigmoid(x.of_key)
    end,
    parameters = {
      gate = { per = "token" },
      of_key = { per = "token", from = "key", unit = true },
      of_query = { per = "token", from = "query" },
      strength = { per = "layer_head", init = 0.5 },
      summed = { per = "token", from = "query", unit = true },
    },
  },
  model = { kind = "decoder", layers = 2, heads = 4, width = 32, feedforward = 48, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
