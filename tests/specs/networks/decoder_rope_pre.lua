-- A decoder with norms before the branches.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "rope" },
  model    = { use = "ruoss_decoder", layers = 2, heads = 2, width = 16, feedforward = 32,
    dropout = 0, norm = { place = "pre" } },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
