-- Positions that come again are not distances, and no rows of a table.
return {
  task     = { kind = "bucket_sort" },
  encoding = { positions = { kind = "cyclic", period = 3 }, additive = { kind = "learned" },
    relative = { kind = "shaw" }, score = { use = "alibi" } },
  train    = { use = "quick" },
}
