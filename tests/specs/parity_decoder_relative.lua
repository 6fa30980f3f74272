-- The model of tests/reference/decoder_relative.safetensors (tests/unit/test_parity.c): GELU, biases in all products,
-- logits by the vectors of the output's tokens.
return {
  task     = { kind = "stack_manipulation" },
  encoding = { kind = "relative" },
  model    = { use = "ruoss_decoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0,
    activation = "gelu", bias = "all", tied = true },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
}
