-- A decoder that attends to the embedded input, by vectors of distances; norms before the branches, biases everywhere.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "relative", cross = { relative = { kind = "transformer_xl" }, score = { use = "alibi" } } },
  model    = { kind = "encoder_decoder", encoder_layers = 0, decoder_layers = 2, heads = 2, width = 16,
    feedforward = 32, dropout = 0.1, attention_dropout = 0.2, hidden_dropout = 0.3, norm = { place = "pre" }, bias = "all", tied = true },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
