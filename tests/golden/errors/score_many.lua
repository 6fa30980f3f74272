-- A loop that makes too large a formula.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      local s = x.score
      for i = 1, 1e6 do
        s = exp(s)
      end
      return s
    end,
  },
}
