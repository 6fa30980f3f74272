-- The model of tests/reference/decoder_rope.safetensors (tests/unit/test_parity.c). As large decoders are: RMS norms
-- before the branches, SwiGLU, no biases.
return {
  task     = { kind = "stack_manipulation" },
  encoding = { kind = "rope" },
  model    = { use = "ruoss_decoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0,
    norm = { kind = "rms", place = "pre" }, activation = "swiglu", bias = "none" },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
}
