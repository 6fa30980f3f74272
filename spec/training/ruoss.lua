-- The training of Ruoss et al. 2023, which takes hours on a CPU.
return {
  batch = 128,
  steps = 2000000,
  learning_rate = 3e-4,
  lengths = { 1, 40 },
  optimizer = { kind = "adam", beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8 },
  clip = { kind = "global_norm", max_norm = 1.0 },
}
