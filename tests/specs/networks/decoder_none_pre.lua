-- Norms before the branches, no positions, GELU by its approximation.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "none" },
  model    = { use = "ruoss_decoder", layers = 2, heads = 2, width = 16, feedforward = 32,
    dropout = 0, norm = { place = "pre" }, activation = "gelu_tanh" },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
