-- Sorting with a learned table: rows beyond the training lengths (out of distribution) are never trained.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "learned" },
  model    = { use = "ruoss_encoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
