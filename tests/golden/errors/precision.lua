-- A precision that there is not.
return {
  precision = "float16",
  task = { kind = "bucket_sort" },
}
