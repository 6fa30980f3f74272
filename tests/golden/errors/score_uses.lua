-- Uses of traced values that are not arithmetic.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      return x.score .. "?"
    end,
  },
}
