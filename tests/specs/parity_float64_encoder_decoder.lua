-- Every family with facets of its own; a query of the target whose window has no key sees the whole source.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "alibi", rotation = { kind = "rope" }, additive = { kind = "learned", rows = 40 },
    encoder = { mask = { kind = "window", left = 3 }, score = { kind = "none" } },
    cross = { use = "shaw", score = { use = "alibi" }, mask = { kind = "window", left = 2, right = 1 } } },
  model    = { kind = "encoder_decoder", encoder_layers = 2, decoder_layers = 2, heads = 2, width = 16,
    feedforward = 32, dropout = 0.1 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
