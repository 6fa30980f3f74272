-- Two streams whose positions are sampled, independently for each stream: what is added to the embeddings, rotations of
-- every sequence, and both streams' where the decoder attends to the encoder: device code in the emulation compared
-- with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "duplicate_string" },
  encoding = { rotation = { kind = "rope" }, additive = { kind = "learned" },
    positions = { kind = "randomized", max_position = 140, range = "one_based" },
    encoder = { use = "shaw", positions = { reading = "difference" } },
    decoder = { positions = { draw = "sequence", sorted = false } },
    cross = { use = "relative", score = { use = "fire" } } },
  model = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2, heads = 4, width = 32, feedforward = 48,
    dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
