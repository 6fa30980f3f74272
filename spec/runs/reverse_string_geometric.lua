-- Reversal with geometric attention: the nearest key that matches wins.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "geometric" },
  model    = { use = "ruoss_encoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
