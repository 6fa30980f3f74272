-- Addition of Duan and Shi 2024 by the model without calibration: sinusoids, and no encoder layer, as in their code.
return {
  task     = { kind = "addition" },
  encoding = { kind = "sinusoid" },
  model    = { use = "duan_encoder_decoder", encoder_layers = 0 },
  train    = { use = "duan", epochs = 256 },
  eval     = { use = "duan", splits = { "test", "validation" },
               during = { every = 1792, splits = { "validation" }, examples = 500 } },
}
