-- Entries of a list that do not fit.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = {
      { use = "window", widht = 4 },
      { use = "rope" },
      { use = "alibi", score = function(x) return x.score end },
      { use = "windw" },
      { width = 4 },
      { parameters = { width = 4 } },
      5,
    },
  },
}
