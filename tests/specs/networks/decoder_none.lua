-- A decoder with the default of every field, without positions. The model of tests/reference/decoder_none.safetensors.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "none" },
  model    = { use = "ruoss_decoder", layers = 2, heads = 2, width = 16, feedforward = 32,
    dropout = 0 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
