-- Logits by the vectors of the output's tokens; learned positions, dropout, uniform initial values.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "learned", additive = { rows = 40 } },
  model    = { use = "ruoss_decoder", layers = 2, heads = 2, width = 16, feedforward = 32,
    dropout = 0.1, tied = true, init = "xavier" },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
}
