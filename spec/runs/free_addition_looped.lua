-- Addition of numbers of up to 20 digits by a small looped decoder with Abacus embeddings, after McLeish et al. 2024,
-- tested on up to 40 digits. The paper's model is 1024 wide and has 16 heads.
return {
  task     = { kind = "free_addition" },
  encoding = { use = "abacus" },
  model    = { use = "mcleish_looped", heads = 4, width = 128, feedforward = 128 },
  train    = { batch = 128, steps = 20000, learning_rate = 1e-3, clip = { kind = "global_norm", max_norm = 0.5 },
    optimizer = { kind = "adamw", beta2 = 0.98, epsilon = 1e-12, weight_decay = 0.01 } },
  eval     = { by = { digits = { 1, 40 } }, examples = 100 },
}
