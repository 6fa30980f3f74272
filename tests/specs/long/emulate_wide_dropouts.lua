-- Every dropout in a model whose products are a library's, off in evaluation (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "alibi_learned" },
  model = { layers = 1, heads = 4, width = 256, feedforward = 80, dropout = 0.1, attention_dropout = 0.2,
    hidden_dropout = 0.3, embedding_dropout = 0.15, activation = "gelu" },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
}
