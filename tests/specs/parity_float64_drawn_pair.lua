-- Two streams with positions of their own in every sequence, that begin at 1, in the order of the draw; the decoder
-- attends to itself by a draw of distances for the whole pass.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "label", rotation = { kind = "rope" },
    positions = { max_position = 64, range = "one_based", sorted = false },
    decoder = { use = "alibi", rotation = { kind = "none" }, positions = { draw = "pass" } } },
  model    = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 1, heads = 2, width = 16,
    feedforward = 32, dropout = 0.1 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
