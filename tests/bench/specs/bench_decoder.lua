-- A decoder like large ones: norms before branches, SwiGLU, no biases; two layers.
return {
  task     = { kind = "parity_check" },
  encoding = { kind = "rope" },
  model    = { use = "ruoss_decoder", layers = 2, norm = { kind = "rms", place = "pre" }, activation = "swiglu",
               bias = "none" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
