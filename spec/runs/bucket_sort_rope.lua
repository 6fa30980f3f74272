-- Sorting with rotations.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "rope" },
  model    = { use = "ruoss_encoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
