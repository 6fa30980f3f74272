-- Gradients of weights over the tokens of two streams, with geometric attention and gradients of tables: device code in
-- the emulation against the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "duplicate_string" },
  encoding = { encoder = { use = "geometric" }, decoder = { use = "relative", score = { use = "alibi_learned" } },
    cross = { use = "relative", score = { use = "t5" }, mask = { kind = "window", left = 3, right = 2 } } },
  model = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2, heads = 4, width = 32, feedforward = 48,
    dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 }, dropout = true, by = { noise = { list = { 0.5 } } }, noise = "relative" },
  precision = "float64",
  device_products = "warps",
}
