-- The Latin Square Task with learned tables and initial values from N(0, 0.2^2): learn-0.2 of Ito et al. 2024.
return {
  task     = { kind = "latin_square" },
  encoding = { kind = "lst_learned", additive = { init_sigma = 0.2 } },
  model    = { use = "lst_encoder" },
  train    = { use = "lst" },
  eval     = { use = "lst" },
}
