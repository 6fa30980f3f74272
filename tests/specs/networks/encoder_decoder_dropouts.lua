-- Every dropout of three attentions, one of them between two streams; gates.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "relative", cross = { relative = { kind = "none" }, mask = { kind = "window", left = 3 } } },
  model    = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2, heads = 2, width = 16, feedforward = 32,
    activation = "swiglu", dropout = 0.1, attention_dropout = 0.2, hidden_dropout = 0.3, embedding_dropout = 0.15 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4, dropout = true },
}
