-- What goes with a dataset alone, beside a sampler.
return {
  task = { kind = "bucket_sort", seed = 1, validation = "items.csv" },
  eval = { by = { length = true }, splits = { "train" } },
}
