-- A branch in a score.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      if x.distance then
        return x.score
      end
      return 2 * x.score
    end,
  },
}
