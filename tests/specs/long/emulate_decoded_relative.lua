-- A decoder with vectors of distances, a learned score, positions that each layer samples, and vectors of positions in
-- its layers: device code in the emulation compared with the CPU half, also decoding (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "relative", score = { use = "t5" }, additive = { kind = "sinusoid", at = "block" },
    positions = { kind = "randomized", max_position = 128, draw = "layer" } },
  model = { kind = "decoder", layers = 2, heads = 4, width = 32, feedforward = 48, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
