-- Strict float32, a width that is no multiple of a warp, a bias by buckets, a label at every token of the input: device
-- code in the emulation compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "t5" },
  model = { layers = 2, heads = 4, width = 48, feedforward = 48, dropout = 0.1, readout = "in_place" },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float32",
}
