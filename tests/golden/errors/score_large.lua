-- Numbers beyond those of float32.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = {
      function(x) return x.score + 1e200 * x.distance end,
      { score = function(x) return x.score + x.width end, parameters = { width = 1e40 } },
      { score = function(x) return x.score + x.a * lookup(x.b, x.distance) end,
        parameters = { a = { per = "head", init = { normal = 1e39 } },
          b = { index = { -8, 8 }, init = 0, outside = -1e39 } } },
    },
  },
}
