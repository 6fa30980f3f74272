-- A loss of the labels that count, as the mean over sequences: device code in the emulation compared with the CPU half
-- (tests/emulation/test_model.c), also if some sequences or all have no label that counts.
return {
  task = { kind = "stack_manipulation", loss = "counted" },
  encoding = { kind = "none" },
  model = { layers = 1, heads = 2, width = 16, feedforward = 16 },
  train = { lengths = { 1, 20 }, loss_mean = "sequence" },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
