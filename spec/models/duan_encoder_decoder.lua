-- The encoder-decoder of Duan and Shi 2024; their released code has no encoder layer.
return {
  kind = "encoder_decoder",
  encoder_layers = 1,
  decoder_layers = 6,
  heads = 8,
  width = 128,
  feedforward = 512,
  dropout = 0.3,
  bias = "all",
  init = "xavier",
}
