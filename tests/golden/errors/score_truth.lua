-- A function that returns a truth value.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      return less(x.score, 0)
    end,
  },
}
