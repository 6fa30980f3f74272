-- The model of tests/reference/tables.safetensors, dropout off, weights recomputed in the backward pass
-- (tests/unit/test_parity.c).
return {
  task     = { kind = "bucket_sort" },
  encoding = { additive = { kind = "learned", at = "block", rows = 64, dropout = 0 }, mask = { kind = "causal" },
    relative = { kind = "shaw", clip = 4, sides = "left" }, projections = { bias = true, output = false } },
  model    = { use = "ruoss_encoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0 },
  train    = { use = "ruoss", lengths = { 1, 18 }, keep_probabilities = false },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
