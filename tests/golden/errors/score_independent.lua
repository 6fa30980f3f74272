-- Mistakes in scores are reported even if fields on which a formula depends are invalid.
return {
  task = { kind = "reverse_string" },
  encoding = {
    encoder = { score = function(x) return x.score + x.slop * lookup(x.t, x.head) + select(less(x.head, 6), x.a, x.b) end,
      parameters = { slope = { per = "hed", init = 1 }, t = { shape = 8, init = 0 }, a = { init = { 1, 2 } },
        b = { per = "head", init = { 1, 2 } } } },
    decoder = { score = function(x) return x.score + select(less(x.head, 6), x.a, x.b) + lookup(x.t, x.head) end,
      parameters = { t = { shape = 8, init = 0 }, a = { per = "head", init = { 1, 2 } }, b = 1 } },
    cross = { score = function(x) return x.scores end },
  },
  model = { use = "small_encoder_decoder", encoder_layers = 1, heads = "two" },
  train = { use = "quick" },
  eval = { use = "quick" },
}
