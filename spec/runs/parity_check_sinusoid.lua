-- Parity with plain sinusoids, as in the paper's table.
return {
  task     = { kind = "parity_check" },
  encoding = { kind = "sinusoid" },
  model    = { use = "ruoss_encoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
