-- No noise at all, and other axes beside it where the data is not a finite one.
return {
  task = { kind = "bucket_sort" },
  eval = { by = { noise = { list = {} }, digits = true } },
}
