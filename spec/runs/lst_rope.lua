-- The Latin Square Task with rotations: rope of Ito et al. 2024.
return {
  task     = { kind = "latin_square" },
  encoding = { kind = "lst_rope" },
  model    = { use = "lst_encoder" },
  train    = { use = "lst" },
  eval     = { use = "lst" },
}
