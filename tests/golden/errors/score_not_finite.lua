-- Scores that are infinite or NaN at the initial values of parameters.
return {
  task = { kind = "reverse_string" },
  encoding = {
    encoder = { score = function(x) return x.score + sum_between(log(x.gate)) end,
      parameters = { gate = { per = "token" } } },
    decoder = { score = function(x) return x.score + exp(x.slope * abs(x.distance)) end,
      parameters = { slope = { per = "head", init = { 0.1, 0.1, 0.1, 5 } } } },
    cross = { score = function(x) return x.score * sqrt(x.scale) end, parameters = { scale = { init = -1 } } },
  },
  model = { use = "small_encoder_decoder", encoder_layers = 1 },
  train = { use = "quick" },
  eval = { use = "quick" },
}
