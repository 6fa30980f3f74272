-- Sorting with plain sinusoids: accuracy is high within the training lengths and falls beyond them.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "sinusoid" },
  model    = { use = "ruoss_encoder" },
  train    = { use = "quick", lengths = { 1, 40 } },
  eval     = { use = "quick" },
}
