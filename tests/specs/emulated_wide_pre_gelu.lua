-- Products by a library, norms ahead of branches, GELU, biases everywhere: device code in the emulation against the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "sinusoid" },
  model = { layers = 2, heads = 8, width = 256, feedforward = 272, dropout = 0.1, norm = { place = "pre" },
    activation = "gelu", bias = "all" },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
