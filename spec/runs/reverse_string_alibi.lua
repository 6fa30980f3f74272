-- Reversal with ALiBi: a penalty that grows with the distance, half a step smaller to the left.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "alibi" },
  model    = { use = "ruoss_encoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
