-- Noise that is not a list of deviations, or where there is none.
return {
  task = { kind = "bucket_sort" },
  eval = { by = { noise = { list = { 0.5, -1, "1", 0.5, 0 } } }, noise = "loud",
    during = { every = 5, by = { noise = { list = { 0 } } } } },
}
