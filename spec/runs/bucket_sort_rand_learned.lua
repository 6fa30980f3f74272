-- Sorting with a learned table under random positions: every row is trained.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "learned", positions = { kind = "randomized", max_position = 2048 } },
  model    = { use = "ruoss_encoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
