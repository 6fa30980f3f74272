-- Masks by lines and anti-diagonals with vectors of distances and learned scores, periodic positions: device code in
-- the emulation compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "duplicate_string" },
  encoding = { additive = { kind = "sinusoid" }, positions = { kind = "cyclic", period = 4 },
    encoder = { positions = { kind = "index" }, relative = { kind = "shaw", clip = 4 },
      mask = { kind = "antidiagonal", width = 1, stride = 2 } },
    decoder = { positions = { kind = "index" }, score = { use = "alibi_learned" }, lines = {
      { head = 0, direction = 1, line = 0, value = 1.5 }, { head = 0, direction = 1, line = -2, value = 0.25 },
      { head = 1, direction = 0, line = 1, value = -0.5 }, { head = 2, direction = -1, line = 3, value = 2 } } },
    cross = { rotation = { kind = "rope" }, lines = { zero_corner = "all",
      { head = 0, direction = -1, line = 0, value = 0.5 }, { head = 0, direction = -1, line = 5, value = 2 },
      { head = 1, direction = 0, line = 0, value = 1 }, { head = 1, direction = 0, line = 2, value = -1 },
      { head = 3, direction = 1, line = 2, value = 0.75 } } } },
  model = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2, heads = 4, width = 32, feedforward = 48,
    dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
