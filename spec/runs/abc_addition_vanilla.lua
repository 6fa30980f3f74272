-- Addition of Duan and Shi 2024 by a model without a calibrated bias, with sinusoids and, as in their code, without an
-- encoder layer.
return {
  task     = { kind = "addition" },
  encoding = { kind = "sinusoid" },
  model    = { use = "duan_encoder_decoder", encoder_layers = 0 },
  train    = { use = "duan", epochs = 256 },
  eval     = { use = "duan", splits = { "test", "validation" },
               during = { every = 1792, splits = { "validation" }, examples = 500 } },
}
