-- The Latin Square Task with learned tables from N(0, 0.2^2), the best of Ito et al. 2024.
return {
  task     = { kind = "latin_square" },
  encoding = { kind = "lst_learned", additive = { init_sigma = 0.2 } },
  model    = { use = "lst_encoder" },
  train    = { use = "lst" },
  eval     = { by = { vectors = true, puzzle = true }, splits = { "train", "test", "validation" }, examples = 2700,
               during = { every = 640, by = { vectors = true }, examples = 900 } },
}
