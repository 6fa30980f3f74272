-- Attention in fragments, in exact arithmetic: several groups of rows, windows and causal masks, scores, weights that are
-- dropped out, cross-attention. Device code in the emulation against the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "reverse_string" },
  encoding = { encoder = { score = { use = "alibi" }, mask = { kind = "window", left = 3, right = 2 } },
    decoder = { score = function(x) return 2 * tanh(x.score / 2) end },
    cross = { mask = { kind = "window", left = 9, right = 2 } } },
  model = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 1, heads = 10, width = 80, feedforward = 32,
    dropout = 0.1, attention_dropout = 0.2, norm = { kind = "rms" } },
  train = { lengths = { 1, 18 } },
  eval = { lengths = { 1, 18 } },
  precision = "float64",
  device_products = "warps",
}
