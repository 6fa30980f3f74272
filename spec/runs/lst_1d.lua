-- The Latin Square Task with a sinusoid of the index: 1d-fixed of Ito et al. 2024, with its dropout in evaluation.
return {
  task     = { kind = "latin_square" },
  encoding = { kind = "lst_1d" },
  model    = { use = "lst_encoder" },
  train    = { use = "lst" },
  eval     = { use = "lst", dropout = true },
}
