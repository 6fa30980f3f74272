-- A table that is read beyond its end.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      return x.score + lookup(x.bias, x.distance)
    end,
    parameters = { bias = { index = { -8, 8 }, init = 0 } },
  },
}
