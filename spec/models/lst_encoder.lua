-- The encoder of Ito et al. 2024: one head, GELU after both feed-forward layers, PyTorch's initial values, no dropout.
-- The answer is read at the last cell of the puzzle.
return {
  kind = "encoder",
  layers = 4,
  heads = 1,
  width = 160,
  feedforward = 640,
  dropout = 0,
  embedding = "linear",
  activation = "gelu",
  branch_activation = "gelu",
  bias = "all",
  init = "torch",
  readout = "last",
}
