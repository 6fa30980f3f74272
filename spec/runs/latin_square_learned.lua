-- The Latin Square Task with a learned table of small initial values, in an encoder of Ito et al. 2024's size.
return {
  task     = { kind = "latin_square" },
  encoding = { kind = "learned", additive = { rows = 17, init_sigma = 0.2 } },
  model    = { layers = 4, heads = 1, width = 160, feedforward = 640, dropout = 0, activation = "gelu", bias = "all",
               init = "torch" },
  train    = { batch = 128, epochs = 400, learning_rate = 1e-4, clip = { kind = "none" } },
  eval     = { by = { vectors = true, puzzle = true }, splits = { "train", "test", "validation" }, examples = 2700,
               during = { every = 640, by = { vectors = true }, examples = 900 } },
}
