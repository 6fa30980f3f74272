-- Learned slopes of each family; the encoder is the embedding.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "alibi_learned", cross = { use = "alibi_learned" } },
  model    = { kind = "encoder_decoder", encoder_layers = 0, decoder_layers = 2, dropout = 0,
    heads = 2, width = 16, feedforward = 32 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
