-- Mistakes in the settings of scores are reported together with all others.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = {
      { use = "window", widht = 3 },
      { score = function(x) return x.score + x.slop end, parameters = { slope = { per = "head", init = 1 } } },
    },
    rotation = { kind = "ropee" },
  },
  model = { use = "small_encoder", heads = 3 },
  train = { use = "quick", steps = 1.5 },
  eval = { use = "quick" },
}
