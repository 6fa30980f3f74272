-- A boolean operator in a score.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      return x.score - select(less(x.distance, 0) and less(x.distance, -9), 1, 0)
    end,
  },
}
