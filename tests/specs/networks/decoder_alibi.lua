-- A score of the distance under a causal mask.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "alibi" },
  model    = { use = "ruoss_decoder", layers = 2, heads = 2, width = 16, feedforward = 32,
    dropout = 0 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
