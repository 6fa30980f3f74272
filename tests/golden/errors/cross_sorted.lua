-- Facets that read one sequence's positions agree about their order, too; false is shown as false.
return {
  task     = { kind = "bucket_sort" },
  encoding = {
    kind      = "rope",
    positions = { kind = "randomized", draw = "sequence", max_position = 200, sorted = false },
    cross     = { positions = { sorted = true } },
  },
  model    = { kind = "encoder_decoder" },
  train    = { use = "quick", lengths = { 1, 15 } },
  eval     = { lengths = { 1, 15 }, examples = 4 },
}
