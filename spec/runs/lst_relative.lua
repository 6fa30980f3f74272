-- The Latin Square Task with vectors of distances under a causal mask: relative of Ito et al. 2024.
return {
  task     = { kind = "latin_square" },
  encoding = { kind = "lst_relative" },
  model    = { use = "lst_encoder" },
  train    = { use = "lst" },
  eval     = { use = "lst" },
}
