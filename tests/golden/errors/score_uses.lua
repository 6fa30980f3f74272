-- Uses of traced values that are no arithmetic.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      return x.score .. "?"
    end,
  },
}
