-- A sampler in C beside fields that only a dataset may have.
return {
  task = { kind = "bucket_sort", seed = 1, validation = "items.csv" },
  eval = { by = { length = true }, splits = { "train" } },
}
