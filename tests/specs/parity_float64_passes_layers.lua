-- A decoder whose passes of two layers add the embedding, in training after passes without gradient (McLeish et al.
-- 2024); every layer has its own vectors of distances and of positions; compared with the reference network, also at
-- other numbers of passes and token by token.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "shaw", additive = { kind = "learned", at = "block", rows = 64 } },
  model = { kind = "decoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0.1,
    loops = { times = 4, progressive = true, inject = true } },
  train = { lengths = { 1, 9 } },
  eval = { lengths = { 1, 9 } },
  precision = "float64",
}
