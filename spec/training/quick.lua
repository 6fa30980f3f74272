-- A short training, in which differences between encodings show within minutes.
return {
  batch = 128,
  steps = 1000,
  learning_rate = 1e-3,
  lengths = { 1, 40 },
  log_every = 20,
}
