-- A small encoder for quick tests.
return {
  kind = "encoder",
  layers = 2,
  heads = 2,
  width = 16,
  feedforward = 32,
  dropout = 0.1,
}
