-- Gradients of weights over the tokens of a batch, of products outside of blocks and of weights that several repetitions
-- use: device code in the emulation against the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "none" },
  model = { source = "descriptions/blocks.lua",
    layers = 1, heads = 4, width = 32, feedforward = 48, dropout = 0.1 },
  train = { lengths = { 1, 10 } },
  eval = { lengths = { 1, 10 } },
  precision = "float64",
  device_products = "warps",
}
