-- Reversal of strings by a user's own network, parallel_block.lua.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "rope" },
  model = {
    source = "parallel_block.lua",
    options = { gate = "silu" }, -- options that parallel_block.lua reads as model.options
    layers = 4,
    heads = 4,
    width = 64,
    feedforward = 128,
    dropout = 0.1,
  },
  train = { use = "quick", steps = 600 },
  eval = { use = "quick" },
}
