-- Distances that are drawn are of one sequence; cross-attention has two.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "alibi", positions = { kind = "randomized", reading = "drawn" }, cross = { use = "alibi" } },
  model    = { kind = "encoder_decoder" },
  train    = { use = "quick" },
}
