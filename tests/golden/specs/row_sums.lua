-- Scores with sums over keys: one with a gradient, one that only floor reads.
return {
  task     = { kind = "reverse_string" },
  encoding = {
    mask       = { kind = "causal" },
    score      = function(x)
      local passed = sum_to_query(sigmoid(x.sharpness * x.score))
      return x.score - x.slope * log(1 + passed) - floor(sum_to_query(exp(x.distance) * tanh(x.score)))
    end,
    parameters = { sharpness = { per = "head", init = 1 }, slope = { per = "layer_head", init = 0.5 } },
  },
}
