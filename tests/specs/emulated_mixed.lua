-- Lengths mixed within a batch, with sampled positions of a learned table and of relative vectors, and dropout: device
-- code in the emulation compared with the CPU half (tests/emulation/test_steps.c and test_model.c).
return {
  task = { kind = "stack_manipulation", loss = "counted" },
  encoding = { kind = "relative", additive = { kind = "learned", rows = 64 },
    positions = { kind = "randomized", max_position = 64 } },
  model = { layers = 1, heads = 2, width = 16, feedforward = 16, dropout = 0.1 },
  train = { lengths = { 1, 9, per = "sequence" } },
  eval = { lengths = { 1, 9 } },
  precision = "float64",
}
