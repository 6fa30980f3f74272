-- Parameters beside a list, which has its own.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = { { use = "alibi" }, { use = "window" } },
    parameters = { width = 4 },
  },
}
