-- Every dropout, active in evaluation as well: weights whose masks the passes over queries, keys and vectors of
-- distances read (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "shaw" },
  model = { layers = 2, heads = 4, width = 32, feedforward = 48, dropout = 0.1, attention_dropout = 0.2,
    hidden_dropout = 0.3, embedding_dropout = 0.15 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 }, dropout = true },
}
