-- A loss of the labels that count, and matrices that decay: device code in the emulation compared with the CPU half
-- (tests/emulation/test_model.c), also if all masked labels are in one shard, and if all labels are masked.
return {
  task = { kind = "stack_manipulation", loss = "counted" },
  encoding = { kind = "rope" },
  model = { layers = 2, heads = 4, width = 32, feedforward = 48, dropout = 0.1 },
  train = { lengths = { 1, 20 }, optimizer = { kind = "adamw", weight_decay = 0.1, decays = "matrices" } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
