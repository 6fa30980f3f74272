-- Products divided among warps, in exact arithmetic, with masks of dropout and several labels: device code in the
-- emulation compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "sinusoid" },
  model = { layers = 1, heads = 4, width = 48, feedforward = 80, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
  device_products = "warps",
}
