-- A table where a number is needed.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      return x.score - x.bias * abs(x.distance)
    end,
    parameters = { bias = { index = { -8, 8 }, init = 0 } },
  },
}
