-- Products by a library, strict float32, learned vectors of places: device code in the emulation compared with the CPU
-- half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "learned" },
  model = { layers = 2, heads = 8, width = 256, feedforward = 272, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
}
