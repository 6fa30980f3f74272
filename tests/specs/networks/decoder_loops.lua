-- A user's decoder: blocks that run several times over the same parameters with two attentions, and one without.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "relative" },
  model    = { kind = "decoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0.1,
    source = "../descriptions/loops.lua", options = { loops = 2 } },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
}
