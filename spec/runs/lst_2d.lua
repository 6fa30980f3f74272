-- The Latin Square Task with sinusoids of column and row: 2d-fixed of Ito et al. 2024, with its dropout in evaluation.
return {
  task     = { kind = "latin_square" },
  encoding = { kind = "lst_2d" },
  model    = { use = "lst_encoder" },
  train    = { use = "lst" },
  eval     = { use = "lst", dropout = true },
}
