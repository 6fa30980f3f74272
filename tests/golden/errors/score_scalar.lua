-- lookup of what is not a table.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      return x.score - lookup(x.slope, abs(x.distance))
    end,
    parameters = { slope = { per = "head", init = 1 } },
  },
}
