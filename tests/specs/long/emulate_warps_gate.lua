-- Products divided among warps, in exact arithmetic, of a gate without biases: sizes that are no whole tiles, more
-- hidden channels than the warps compute at a time, and three parts of the width (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "rope" },
  model = { layers = 1, heads = 4, width = 80, feedforward = 272, activation = "swiglu", bias = "none", dropout = 0.1,
    norm = { kind = "rms", place = "pre" } },
  train = { lengths = { 1, 10 } },
  eval = { lengths = { 1, 10 } },
  precision = "float64",
  device_products = "warps",
}
