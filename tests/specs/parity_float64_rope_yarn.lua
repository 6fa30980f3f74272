-- parity_rope_yarn.lua in float64, with the values written out that would follow from the rest of the spec
-- (tests/unit/test_parity.c).
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "rope_yarn", rotation = { scaling = { beta_slow = 0.25, beta_fast = 4, original_length = 36,
    attention_factor = 1.1386294361119891 } } },
  model    = { use = "ruoss_encoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
