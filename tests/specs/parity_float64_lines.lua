-- Lines with vectors of distances, a column counted from the right; in cross-attention a score, and an anti-diagonal
-- that moves two keys with each query.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "alibi",
    encoder = { use = "shaw", score = { kind = "none" }, lines = { columns = "right",
      { head = 0, direction = 0, line = 0, value = 1 }, { head = 0, direction = -1, line = -2, value = 0.5 },
      { head = 1, direction = 1, line = 0, value = 0 } } },
    decoder = { mask = { kind = "full" } },
    cross = { use = "alibi", mask = { kind = "antidiagonal", width = 1, stride = 2 } } },
  model    = { kind = "encoder_decoder", encoder_layers = 2, decoder_layers = 1, heads = 2, width = 16,
    feedforward = 32, dropout = 0.1 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
