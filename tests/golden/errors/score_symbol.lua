-- A name that x does not hold.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      local far = abs(x.distance)
      return x.score - x.slop * far
    end,
    parameters = { slope = { per = "head", init = 1 } },
  },
}
