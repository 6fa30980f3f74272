-- SGD with momentum, without clipping: device code in the emulation against the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "none" },
  model = { layers = 1, heads = 4, width = 32, feedforward = 48, dropout = 0 },
  train = { lengths = { 1, 20 }, optimizer = { kind = "sgd", momentum = 0.9 }, clip = { kind = "none" } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
