-- A decoder whose passes of two layers start from zeros, add the embedding and end with a norm, in training after
-- passes without gradient: device code in the emulation compared with the CPU half, also decoding
-- (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "rope" },
  model = { kind = "decoder", layers = 2, heads = 4, width = 32, feedforward = 48, dropout = 0.1,
    norm = { place = "pre" },
    loops = { times = 4, progressive = true, inject = true, start = "zeros", norm = "inside" } },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
