-- Two streams with draws of their own in every layer: of positions, of distances to both sides, and of both streams'
-- positions where the decoder attends to the encoder's output.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "relative", rotation = { kind = "rope" }, additive = { kind = "sinusoid" },
    positions = { kind = "randomized", max_position = 64, sides = "independent" },
    decoder = { relative = { kind = "shaw", clip = 4, sides = "both" }, positions = { reading = "difference" } },
    cross = { relative = { kind = "transformer_xl" }, score = { use = "alibi" } } },
  model    = { kind = "encoder_decoder", encoder_layers = 2, decoder_layers = 2, heads = 2, width = 16,
    feedforward = 32, dropout = 0.1 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
