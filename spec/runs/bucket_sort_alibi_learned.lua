-- Sorting with ALiBi and learned slopes: the spec contains the formula, and its parameters are trained.
return {
  task     = { kind = "bucket_sort" },
  encoding = {
    score = function(x) return x.score - x.slope * abs(x.distance) end,
    parameters = { slope = { per = "head", init = "alibi_slopes" } },
  },
  model    = { use = "ruoss_encoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
