-- Sorting with randomized sinusoids: accuracy holds beyond the training lengths.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "sinusoid", positions = { kind = "randomized", max_position = 2048 } },
  model    = { use = "ruoss_encoder" },
  train    = { use = "quick", lengths = { 1, 40 } },
  eval     = { use = "quick" },
}
