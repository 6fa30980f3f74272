-- A wide looped decoder of McLeish et al. 2024: training draws its passes, which start from noise and add the embedding,
-- and a feed-forward part and two linear maps without biases follow the last pass (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "none" },
  model = { use = "mcleish_looped", heads = 4, width = 256, feedforward = 64, loops = { times = 4 } },
  train = { lengths = { 1, 6 } },
  eval = { lengths = { 1, 6 } },
  precision = "float64",
}
