-- A causal decoder with tied vectors, RMS norms before the branches, a gate, biases everywhere: device code in the
-- emulation compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "rope" },
  model = { kind = "decoder", layers = 2, heads = 4, width = 48, feedforward = 80, dropout = 0.1,
    norm = { kind = "rms", place = "pre" }, activation = "swiglu", bias = "all", tied = true },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
