-- Blocks that run several times over the same parameters, two attentions, and a block of another name than `layer`.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "relative" },
  model    = { layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0.1,
    source = "../descriptions/loops.lua", options = { loops = 2 } },
  train    = { lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
}
