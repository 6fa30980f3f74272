-- The Latin Square Task with random tables that are never trained: the encoding `random` of Ito et al. 2024.
return {
  task     = { kind = "latin_square" },
  encoding = { kind = "lst_random" },
  model    = { use = "lst_encoder" },
  train    = { use = "lst" },
  eval     = { use = "lst" },
}
