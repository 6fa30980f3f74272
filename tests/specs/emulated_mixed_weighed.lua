-- Lengths mixed within a batch, and a loss of the labels that count as the mean over sequences: device code in the
-- emulation compared with the CPU half (tests/emulation/test_steps.c and test_model.c).
return {
  task = { kind = "stack_manipulation", loss = "counted" },
  encoding = { kind = "none" },
  model = { layers = 1, heads = 2, width = 16, feedforward = 16 },
  train = { lengths = { 1, 9, per = "sequence" }, loss_mean = "sequence" },
  eval = { lengths = { 1, 9 } },
  precision = "float64",
}
