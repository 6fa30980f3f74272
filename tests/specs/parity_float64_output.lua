-- Passes that add the embedding, and a feed-forward part and two linear maps without biases after them (McLeish et al.
-- 2024); compared with the reference network, also at other numbers of passes and token by token.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "alibi" },
  model = { kind = "decoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0.1, hidden_dropout = 0.2,
    norm = { embedding = true }, activation = "geglu", bias = "none", output = "feedforward",
    output_bias = false, loops = { times = 3, inject = true } },
  train = { lengths = { 1, 9 } },
  eval = { lengths = { 1, 9 } },
  precision = "float64",
}
