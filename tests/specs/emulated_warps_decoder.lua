-- A decoder whose layers run twice, divided among warps, with two attentions in fragments, with a score and a window:
-- device code in the emulation compared with the CPU half, also decoding (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { additive = { kind = "learned" }, rotation = { kind = "rope" },
    positions = { kind = "randomized", max_position = 128, draw = "sequence", range = "one_based" },
    score = function(x) return 2 * tanh(x.score / 2) end, mask = { kind = "window", left = 5, right = 0 } },
  model = { kind = "decoder", source = "descriptions/loops.lua", options = { loops = 2 }, layers = 1, heads = 4,
    width = 32, feedforward = 48, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
  device_products = "warps",
}
