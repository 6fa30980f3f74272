-- A causal decoder of the size of Ruoss et al. 2023's encoder.
return {
  kind = "decoder",
  layers = 5,
  heads = 8,
  width = 64,
  feedforward = 256,
  dropout = 0.1,
}
