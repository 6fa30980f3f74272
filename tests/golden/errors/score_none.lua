-- Parameters without a score.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    parameters = { width = 4 },
  },
}
