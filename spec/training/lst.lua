-- The training of Ito et al. 2024: AdamW without weight decay, which is Adam, at a constant learning rate. The paper
-- trains for 4001 epochs.
return {
  batch = 128,
  epochs = 400,
  learning_rate = 1e-4,
  optimizer = { kind = "adamw", beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0 },
  clip = { kind = "none" },
  cadence = "epochs",
  log_every = 1,
  checkpoint = { every = 20, keep = { 0, 200 } },
}
