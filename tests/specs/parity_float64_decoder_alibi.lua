-- The model of tests/reference/decoder_alibi.safetensors in float64, to the last digits (tests/unit/test_parity.c):
-- norms before the branches, GELU by its approximation; weights recomputed in the backward pass.
return {
  task     = { kind = "stack_manipulation" },
  encoding = { kind = "alibi" },
  model    = { use = "ruoss_decoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0,
    norm = { place = "pre" }, activation = "gelu_tanh" },
  train    = { use = "ruoss", lengths = { 1, 18 }, keep_probabilities = false },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
