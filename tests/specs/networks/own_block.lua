-- The block of examples/own_network.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "rope" },
  model    = { use = "ruoss_encoder", layers = 2, heads = 2, width = 16, feedforward = 32,
    dropout = 0.1, source = "../../../examples/own_network/parallel_block.lua" },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
}
