-- A causal decoder of the same size as the encoder of Ruoss et al. 2023.
return {
  kind = "decoder",
  layers = 5,
  heads = 8,
  width = 64,
  feedforward = 256,
  dropout = 0.1,
}
