-- An encoder with norms before the branches, GELU, biases in all products, PyTorch's initial values. The model of
-- tests/reference/encoder_gelu_pre.safetensors.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "sinusoid" },
  model    = { use = "ruoss_encoder", layers = 2, heads = 2, width = 16, feedforward = 32,
    dropout = 0.1, norm = { place = "pre" }, activation = "gelu", bias = "all", init = "torch" },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
}
