-- SGD with momentum, without clipping; heads of 40 channels, spread over threads of which not all have as many, with
-- vectors of sampled distances and a table by distance: device code in the emulation compared with the CPU half
-- (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "relative", positions = { kind = "randomized", max_position = 128 },
    score = { use = "alibi_learned" } },
  model = { layers = 2, heads = 2, width = 80, feedforward = 48, dropout = 0 },
  train = { lengths = { 1, 20 }, optimizer = { kind = "sgd", momentum = 0.9 }, clip = { kind = "none" } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
