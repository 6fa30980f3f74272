-- A parameter that nothing reads, and one that falls out of the formula.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      return x.score + x.slope * x.distance * 0
    end,
    parameters = { slope = { per = "head", init = 1 }, width = 3 },
  },
}
