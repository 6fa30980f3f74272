-- Sorting without any encoding: every output position gives the same answer.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "none" },
  model    = { use = "ruoss_encoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
