-- A sequence's own draw of positions is one of each stream, whoever takes it.
return {
  task     = { kind = "bucket_sort" },
  encoding = {
    kind      = "rope",
    positions = { kind = "randomized", draw = "sequence", max_position = 200 },
    cross     = { positions = { max_position = 100 } },
    decoder   = { use = "alibi", rotation = { kind = "none" }, positions = { draw = "layer", max_position = 20 } },
  },
  model    = { kind = "encoder_decoder" },
  train    = { use = "quick", lengths = { 1, 15 } },
  eval     = { lengths = { 1, 15 }, examples = 4 },
}
