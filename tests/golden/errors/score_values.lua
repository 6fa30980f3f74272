-- Lists of wrong lengths.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      return x.score + x.slope * lookup(x.bias, mod(x.distance, 3))
    end,
    parameters = { slope = { per = "head", values = { 1, 2, 3 } },
      bias = { shape = 3, per = "layer_head", init = { 1, 2 } } },
  },
}
