-- Computation tokens and a task with an option: device code in the emulation against the CPU half
-- (tests/emulation/test_model.c).
return {
  task = { kind = "odds_first", options = { order = "even" }, computation = 1 },
  encoding = { kind = "sinusoid" },
  model = { layers = 1, heads = 4, width = 32, feedforward = 48, dropout = 0.1 },
  train = { lengths = { 1, 14 } },
  eval = { lengths = { 1, 14 } },
  precision = "float64",
}
