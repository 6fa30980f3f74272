-- A formula without the logit.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      return -abs(x.distance)
    end,
  },
}
