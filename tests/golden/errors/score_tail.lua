-- A mistake in a call that takes the place of its caller.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      return log(-abs(x.score) - 1)
    end,
  },
}
