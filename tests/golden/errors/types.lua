-- Values of the wrong type.
return {
  task = "bucket_sort",
  encoding = "sinusoid",
  model = { layers = "5", dropout = "high", heads = { 8 } },
  train = { steps = 1.5, clip = 1.0, checkpoint = { keep = { 5, 5 } } },
  eval = { during = {}, 5 },
}
