-- Products by a library, a decoder whose task masks what is behind the end of a target: device code in the emulation
-- compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "binary_addition" },
  encoding = { kind = "learned" },
  model = { kind = "decoder", layers = 2, heads = 8, width = 256, feedforward = 272, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
}
