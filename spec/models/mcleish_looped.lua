-- The looped decoder of McLeish et al. 2024: post-norm layers with gated hidden layers, without biases and dropout.
-- The first pass starts from noise, and every pass adds the normalised embedding to its input; a step of training
-- samples the number of passes. A feed-forward part and two linear maps follow the last pass. Specs set the numbers of
-- layers and passes: the paper has 1 layer and 16 passes for sums, and 4 layers and 4 passes for products.
return {
  kind = "decoder",
  layers = 1,
  heads = 16,
  width = 1024,
  feedforward = 1024,
  dropout = 0,
  norm = { embedding = true },
  activation = "geglu",
  bias = "none",
  output = "feedforward",
  output_bias = false,
  loops = { times = 16, progressive = true, inject = true, start = "noise" },
}
