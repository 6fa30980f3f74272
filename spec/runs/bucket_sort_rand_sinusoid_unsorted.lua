-- Sorting with randomized sinusoids whose positions are not sorted. Compared with sorted positions, this shows the
-- effect of their order (Ruoss et al. 2023, table 3).
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "sinusoid", positions = { kind = "randomized", max_position = 2048, sorted = false } },
  model    = { use = "ruoss_encoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
