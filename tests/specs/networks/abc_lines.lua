-- A calibrated student without positions: lines that cross, a column, a head and rows without a key.
-- The model of tests/reference/abc_lines.safetensors.
return {
  task     = { kind = "addition", options = { width = 4, numbers = 64 } },
  encoding = {
    decoder = { lines = { { head = 0, direction = 1, line = 0, value = 0 }, { head = 0, direction = 1, line = -1, value = -0.75 },
      { head = 1, direction = 1, line = -1, value = 1.25 }, { head = 1, direction = 0, line = 0, value = -0.5 },
      { head = 2, direction = 1, line = 2, value = 3 } } },
    cross = { lines = { { head = 0, direction = -1, line = 1, value = 2.5 }, { head = 0, direction = -1, line = 7, value = 1 },
      { head = 1, direction = -1, line = 1, value = 1.5 }, { head = 1, direction = 1, line = 4, value = -0.25 },
      { head = 1, direction = 0, line = 2, value = 0.75 }, { head = 3, direction = 0, line = 1, value = 0.5 } } } },
  model    = { use = "duan_encoder_decoder", encoder_layers = 0, decoder_layers = 2, heads = 4, width = 16,
    feedforward = 16, dropout = 0 },
  train    = { use = "duan", batch = 16, epochs = 1 },
  eval     = { splits = { "test" }, by = { digits = { 1, 3 } } },
  precision = "float64",
}
