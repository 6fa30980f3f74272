-- The training of Duan and Shi 2024's released code; the paper states a learning rate of 1e-5. Specs set the number of
-- epochs or steps.
return {
  batch = 512,
  learning_rate = 1e-4,
  optimizer = { kind = "adam", beta1 = 0.9, beta2 = 0.98, epsilon = 1e-9 },
  clip = { kind = "none" },
}
