-- An equality in a score.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      return x.score - select(x.distance == 0, 1, 0)
    end,
  },
}
