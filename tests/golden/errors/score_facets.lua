-- A preset with more than a score in a list.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = { { use = "./bases/faceted.lua" }, { use = "window" } },
  },
}
