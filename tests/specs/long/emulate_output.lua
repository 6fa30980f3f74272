-- A feed-forward part and two linear maps without biases after the last block (McLeish et al. 2024), and a norm of the
-- embedding (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "rope" },
  model = { kind = "decoder", layers = 1, heads = 2, width = 16, feedforward = 48, activation = "geglu", bias = "none",
    dropout = 0.1, hidden_dropout = 0.2, norm = { embedding = true }, output = "feedforward", output_bias = false },
  train = { lengths = { 1, 10 } },
  eval = { lengths = { 1, 10 } },
  precision = "float64",
}
