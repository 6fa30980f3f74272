-- Reversal with Transformer-XL's vectors of the signed distance.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "relative" },
  model    = { use = "ruoss_encoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
