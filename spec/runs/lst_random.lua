-- The Latin Square Task with random tables that stay: random of Ito et al. 2024.
return {
  task     = { kind = "latin_square" },
  encoding = { kind = "lst_random" },
  model    = { use = "lst_encoder" },
  train    = { use = "lst" },
  eval     = { by = { vectors = true, puzzle = true }, splits = { "train", "test", "validation" }, examples = 2700,
               during = { every = 640, by = { vectors = true }, examples = 900 } },
}
