-- The model of tests/reference/cells.safetensors, dropout off (tests/unit/test_parity.c).
return {
  task     = { kind = "latin_square" },
  encoding = { additive = { kind = "sinusoid", at = "block", channels = "interleaved", dropout = 0 },
    positions = { kind = "grid" }, normaliser = { temperature = 0.5 } },
  model    = { use = "ruoss_encoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0, bias = "all" },
  train    = { batch = 16, steps = 20 },
  eval     = { splits = { "validation" }, examples = 4 },
  precision = "float64",
}
