-- A user's network with several kinds of blocks, and operations outside of them: device code in the emulation compared
-- with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "none" },
  model = { source = "descriptions/blocks.lua",
    layers = 2, heads = 4, width = 48, feedforward = 80, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
