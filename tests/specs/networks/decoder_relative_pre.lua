-- Decoder with relative encodings and RMS norms before the branches.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "relative" },
  model    = { use = "ruoss_decoder", layers = 2, heads = 2, width = 16, feedforward = 32,
    dropout = 0, norm = { kind = "rms", place = "pre" } },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
