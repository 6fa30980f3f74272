-- The encoder of Ruoss et al. 2023.
return {
  kind = "encoder",
  layers = 5,
  heads = 8,
  width = 64,
  feedforward = 256,
  dropout = 0.1,
}
