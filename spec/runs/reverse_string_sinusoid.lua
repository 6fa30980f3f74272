-- Reversing with plain sinusoids, under the paper's training: 80 tokens at the longest training length.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "sinusoid" },
  model    = { use = "ruoss_encoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
