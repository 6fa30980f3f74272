-- A score with sums over the keys of each query in a decoder (tests/unit/test_random.c); weights are recomputed in the
-- backward pass.
return {
  task     = { kind = "stack_manipulation" },
  encoding = {
    kind = "none",
    score = function(x)
      local passed = sum_to_query(sigmoid(x.sharpness * x.score))
      return x.score - x.slope * log(1 + passed) + 0.25 * sum_to_query(x.slope * x.score
        * exp(0.1 * x.distance))
    end,
    parameters = { slope = { per = "layer_head", init = 0.5 }, sharpness = { per = "layer_head", init = 1.5 } },
  },
  model    = { use = "ruoss_decoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0,
    norm = { kind = "rms", place = "pre" }, bias = "none" },
  train    = { use = "ruoss", lengths = { 1, 18 }, keep_probabilities = false },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
