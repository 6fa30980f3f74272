-- Reversal with plain sinusoids and the training of Ruoss et al. 2023: 80 tokens at the longest training length.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "sinusoid" },
  model    = { use = "ruoss_encoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
