-- Positions that the task gives to tokens, in a decoder.
return {
  task = { kind = "reverse_string" },
  encoding = { use = "coupling", positions = { max_position = 90 } },
  model = { kind = "decoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
