-- Parity with plain sinusoids, as in table 1 of Ruoss et al. 2023.
return {
  task     = { kind = "parity_check" },
  encoding = { kind = "sinusoid" },
  model    = { use = "ruoss_encoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
