-- Products by a library, strict float32, learned vectors of places, a label at every token of the input: device code in
-- the emulation compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "learned" },
  model = { layers = 2, heads = 8, width = 256, feedforward = 272, dropout = 0.1, readout = "in_place" },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
}
