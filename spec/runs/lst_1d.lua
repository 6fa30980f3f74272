-- The Latin Square Task with a sinusoid of the index: 1d-fixed of Ito et al. 2024, dropout in evaluation as there.
return {
  task     = { kind = "latin_square" },
  encoding = { kind = "lst_1d" },
  model    = { use = "lst_encoder" },
  train    = { use = "lst" },
  eval     = { by = { vectors = true, puzzle = true }, splits = { "train", "test", "validation" }, examples = 2700,
               dropout = true, during = { every = 640, by = { vectors = true }, examples = 900 } },
}
