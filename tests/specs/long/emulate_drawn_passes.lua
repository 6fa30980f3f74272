-- Two streams with one draw each for the whole pass, and sampled positions of a source that no encoder attends to:
-- device code in the emulation compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "duplicate_string" },
  encoding = { kind = "relative", rotation = { kind = "rope" }, additive = { kind = "learned" },
    positions = { kind = "randomized", max_position = 140, range = "one_based", draw = "pass" },
    decoder = { positions = { reading = "clamped", range = "zero_based" } },
    cross = { score = function(x) return x.score - x.slope * log1p(abs(x.key - x.query)) + x.shift * x.key / 140 end,
      parameters = { slope = { per = "head", init = 0.5, learned = true },
        shift = { per = "head", init = 0.5, learned = true } },
      relative = { kind = "shaw", clip = 3 } } },
  model = { kind = "encoder_decoder", encoder_layers = 0, decoder_layers = 2, dropout = 0, heads = 4, width = 32,
    feedforward = 48 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
