-- The model of tests/reference/geometric_plain.safetensors, dropout off (tests/unit/test_parity.c).
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "geometric", normaliser = { directional = false } },
  model    = { use = "ruoss_encoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
}
