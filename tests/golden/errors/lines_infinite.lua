-- A line's value is a number.
return {
  task     = { kind = "bucket_sort" },
  encoding = { lines = { { head = 0, direction = 1, line = 0, value = 1 / 0 } } },
  train    = { use = "quick" },
}
