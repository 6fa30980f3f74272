-- A user's network with sampled positions of its blocks' inputs and several attentions: device code in the emulation
-- compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { additive = { kind = "learned", at = "block" }, rotation = { kind = "rope" },
    positions = { kind = "randomized", max_position = 128, range = "one_based", draw = "layer" } },
  model = { source = "../descriptions/placed.lua", layers = 2, heads = 4, width = 32, feedforward = 48, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
