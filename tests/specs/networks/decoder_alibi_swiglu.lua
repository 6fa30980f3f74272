-- As large decoders are: RMS norms before the branches, SwiGLU, no biases.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "alibi" },
  model    = { use = "ruoss_decoder", layers = 2, heads = 2, width = 16, feedforward = 32,
    dropout = 0, norm = { kind = "rms", place = "pre" }, activation = "swiglu", bias = "none" },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
