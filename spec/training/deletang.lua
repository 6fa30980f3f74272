-- The training of Deletang et al. 2023's example; the paper trains for 1,000,000 steps.
return {
  batch = 128,
  steps = 1000000,
  learning_rate = 1e-3,
  lengths = { 1, 40 },
  optimizer = { kind = "adam", beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8 },
  clip = { kind = "global_norm", max_norm = 1.0 },
}
