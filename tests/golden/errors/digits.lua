-- Digits that share a position are not distances, and their vectors are learned.
return {
  task     = { kind = "bucket_sort" },
  encoding = { positions = { kind = "digits", max_position = 100, offset = 70 }, additive = { kind = "sinusoid" },
    relative = { kind = "shaw" }, rotation = { kind = "rope" }, score = { use = "alibi" } },
  train    = { use = "quick" },
}
