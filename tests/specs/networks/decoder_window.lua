-- A window's left side alone, RMS norms after the sums, computation tokens. The model of
-- tests/reference/decoder_window.safetensors.
return {
  task     = { kind = "reverse_string", computation = 1 },
  encoding = { mask = { kind = "window", left = 4 } },
  model    = { use = "ruoss_decoder", layers = 2, heads = 2, width = 16, feedforward = 32,
    dropout = 0.1, norm = { kind = "rms" }, activation = "silu" },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
}
