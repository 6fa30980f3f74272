-- Reversal with rotations by random positions, sampled anew for every block.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "rope", positions = { kind = "randomized", max_position = 2048 } },
  model    = { use = "ruoss_encoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
