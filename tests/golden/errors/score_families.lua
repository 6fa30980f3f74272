-- Mistakes in the scores of several attentions are reported together.
return {
  task = { kind = "reverse_string" },
  encoding = {
    encoder = { score = function(x) return x.score + x.slope end },
    decoder = { score = function(x) return x.scores end },
  },
  model = { use = "small_encoder_decoder", encoder_layers = 1 },
  train = { use = "quick" },
  eval = { use = "quick" },
}
