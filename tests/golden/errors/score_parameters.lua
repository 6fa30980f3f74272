-- Parameters whose fields are wrong.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      return x.score
    end,
    parameters = { 
      Slope = 1, score = 2, a = { per = "heads", values = 1 }, b = { shape = 0, init = 1 }, c = { values = 1, init = 1 },
      d = { per = "layer", values = "alibi_slopes" }, e = { shape = 2, index = { 0, 1 }, init = 0 }, f = {},
      g = { init = { normal = 0 } }, h = { values = 1, outside = "clip" }, i = { values = 1, learned = true },
      j = { size = 4, init = 0 }, k = { index = { 3, 1 }, init = 0 }, l = true, m = { values = { normal = 1 } },
    },
  },
}
