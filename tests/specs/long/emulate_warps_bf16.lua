-- Products divided among warps, in bf16: device code in the emulation compared with the CPU half
-- (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "alibi" },
  model = { layers = 2, heads = 4, width = 32, feedforward = 48, dropout = 0 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "bf16",
  device_products = "warps",
}
