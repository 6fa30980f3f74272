-- Fields of another optimiser, and a warm-up that leaves nothing to fall.
return {
  task = { kind = "bucket_sort" },
  train = {
    steps = 100,
    optimizer = { kind = "sgd", weight_decay = 0.1, nesterov = true, beta1 = 0.9 },
    schedule = { kind = "cosine", warmup = 100, decay_steps = 5 },
  },
}
