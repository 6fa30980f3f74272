-- All attentions rotate; biases in all products.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "rope" },
  model    = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2, dropout = 0.1, bias = "all",
    heads = 2, width = 16, feedforward = 32 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
