-- The plain encoder on a task whose input is a grid.
return {
  task = { kind = "latin_square" },
  encoding = { additive = { kind = "sinusoid", channels = "interleaved" }, positions = { kind = "grid" } },
  model = { layers = 2, heads = 8, width = 64, feedforward = 256, dropout = 0.1 },
  train = { steps = 20 },
  eval = { splits = { "validation" } },
}
