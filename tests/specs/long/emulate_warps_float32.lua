-- Products divided among warps, in float32, and of Transformer-XL's vectors: device code in the emulation compared with
-- the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "relative", positions = { kind = "randomized", max_position = 64 } },
  model = { layers = 2, heads = 4, width = 32, feedforward = 80, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float32",
  device_products = "warps",
}
