-- lookup of what is no table.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      return x.score - lookup(x.slope, abs(x.distance))
    end,
    parameters = { slope = { per = "head", init = 1 } },
  },
}
