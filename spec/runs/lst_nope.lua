-- The Latin Square Task without positions: nope of Ito et al. 2024.
return {
  task     = { kind = "latin_square" },
  encoding = { kind = "lst_nope" },
  model    = { use = "lst_encoder" },
  train    = { use = "lst" },
  eval     = { use = "lst" },
}
