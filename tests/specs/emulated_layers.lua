-- A decoder whose passes add the embedding to their input: layers have a window and learned biases in turn, at sampled
-- positions of their own, and the last one has the window again. Device code in the emulation compared with the CPU
-- half, also decoding (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = {
    layers = { { use = "rope", mask = { kind = "window", left = 5, right = 0 } }, "t5" },
    positions = { kind = "randomized", max_position = 64, draw = "layer" },
  },
  model = { kind = "decoder", layers = 5, heads = 2, width = 16, feedforward = 32, dropout = 0.1,
    attention_dropout = 0.1, loops = { times = 2, inject = true } },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
