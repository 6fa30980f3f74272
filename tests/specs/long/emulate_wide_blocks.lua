-- Products by a library, several kinds of blocks, operations outside of them, heads of 64 channels: device code in the
-- emulation compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "none" },
  model = { source = "../descriptions/blocks.lua",
    layers = 2, heads = 4, width = 256, feedforward = 80, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 }, dropout = true },
  precision = "float64",
}
