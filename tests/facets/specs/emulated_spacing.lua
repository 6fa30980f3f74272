-- Every attention of an encoder-decoder with the facet `spacing`: alone, with a causal mask, between two streams.
local half = { kind = "even", heads = 2 }

return {
  task = { kind = "duplicate_string" },
  encoding = { kind = "rope", decoder = { spacing = half, score = { use = "alibi_learned" } },
    encoder = { spacing = half, relative = { kind = "shaw", clip = 3 } }, cross = { spacing = half } },
  model = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 1, heads = 4, width = 16, feedforward = 16,
    attention_dropout = 0.2 },
  train = { batch = 4, shards = 2, learning_rate = 1e-2, steps = 40, lengths = { 1, 6 }, log_every = 20 },
  eval = { lengths = { list = { 1, 4 } }, examples = 4 },
  precision = "float64",
}
