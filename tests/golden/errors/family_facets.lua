-- Settings that a family of attentions cannot have.
return {
  task     = { kind = "bucket_sort" },
  encoding = {
    additive = { kind = "sinusoid" },
    encoder  = { additive = { kind = "learned" } },
    decoder  = { normaliser = { kind = "geometric" } },
    cross    = { positions = { kind = "randomized" }, rotation = { kind = "rope", base = 0.5 } },
  },
  model    = { kind = "encoder_decoder", layers = 2 },
  train    = { use = "quick" },
}
