-- A list where a range stands.
return {
  task = { kind = "bucket_sort" },
  train = { lengths = { 6, 10, 50 } },
  eval = { lengths = 41 },
}
