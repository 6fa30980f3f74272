spec = {
  task = { kind = "bucket_sort" },
}
