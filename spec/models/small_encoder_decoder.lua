-- A small form of duan_encoder_decoder, which learns the successor in minutes on two cores.
return {
  use = "duan_encoder_decoder",
  encoder_layers = 0,
  decoder_layers = 2,
  heads = 4,
  width = 64,
  feedforward = 256,
  dropout = 0,
}
