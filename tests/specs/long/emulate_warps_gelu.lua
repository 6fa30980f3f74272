-- Products divided among warps, in exact arithmetic, around an activation whose gradient reads its arguments, without
-- dropout: the feed-forward layers' input gradient is in the place of their output's (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "none" },
  model = { layers = 1, heads = 4, width = 48, feedforward = 304, activation = "gelu", bias = "all", dropout = 0 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
  device_products = "warps",
}
