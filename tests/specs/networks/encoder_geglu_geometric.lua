-- Geometric attention with RMS norms and GEGLU. The model of tests/reference/encoder_geglu_geometric.safetensors.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "geometric" },
  model    = { use = "ruoss_encoder", layers = 2, heads = 2, width = 16, feedforward = 32,
    dropout = 0, norm = { kind = "rms" }, activation = "geglu" },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
