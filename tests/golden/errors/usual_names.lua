-- Names that other libraries have.
return {
  seed = 3, lr = 1e-3, learning_rate = 2, heads = 4,
  task = { kind = "bucket_sort", vocab_size = 3 },
  model = { num_heads = 8, d_model = 64, headz = 3, n_layers = 3, batch_size = 3, theta = 5, max_len = 3 },
  encoding = { kind = "rope", rotation = { theta = 5 }, positions = { kind = "randomized", max_len = 3 } },
  train = { warmup = 100, epochs = 4, seed = 3, lr = 3 , resume = 5, betas = 3 },
}
