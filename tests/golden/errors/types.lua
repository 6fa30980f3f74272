-- Values of the wrong type.
return {
  task = 7,
  encoding = true,
  model = { layers = "5", dropout = "high", heads = { 8 } },
  train = { steps = 1.5, clip = 1.0, checkpoint = { keep = { 5, 5 } } },
  eval = { during = {}, 5 },
}
