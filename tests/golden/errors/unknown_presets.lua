-- Presets that there are not; the rest is told too.
return {
  task = { kind = "bucket_sort", lenght = 3 },
  encoding = { kind = "rop", rotation = { base = 5, theta = 3 } },
  model = { use = "smal_encoder", heads = 3, layerz = 3 },
  train = { use = "quik", stepz = 3, shards = 200, learning_rate = 7 },
  eval = { use = "quick", batch = 0 },
}
