-- Products by a library, sinusoids, and dropout in evaluation as well: device code in the emulation compared
-- with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "sinusoid" },
  model = { layers = 2, heads = 8, width = 256, feedforward = 272, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 }, dropout = true },
  precision = "float64",
}
