-- Reversal with vectors of random distances, sampled anew for every block.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "relative", positions = { kind = "randomized", max_position = 2048 } },
  model    = { use = "ruoss_encoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
