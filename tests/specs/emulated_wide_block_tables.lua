-- Learned vectors of positions that each layer draws, a score at a temperature, attention without biases and without a
-- product of its output, in a model whose products are a library's: device code in the emulation compared with the CPU
-- half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = {
    additive = { kind = "learned", at = "block", rows = 64 },
    positions = { kind = "randomized", max_position = 48, draw = "layer" },
    score = { use = "alibi" },
    normaliser = { temperature = 2 },
    projections = { bias = false, output = false },
  },
  model = { layers = 2, heads = 4, width = 256, feedforward = 64, dropout = 0, bias = "all" },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 }, by = { noise = { list = { 0.5 } } }, noise = "relative" },
  precision = "float64",
}
