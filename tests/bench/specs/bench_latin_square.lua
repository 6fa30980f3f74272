-- The encoder of the Latin Square paper with two layers, and few puzzles.
return {
  use   = "../../../spec/runs/lst_learned.lua",
  task  = { options = { puzzles = 30 } },
  model = { layers = 2 },
}
