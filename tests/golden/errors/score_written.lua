-- Parts that double within a sum are written out wherever they are used.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      local total = sum(8, function(m)
        local term = x.slope * m
        for i = 1, 25 do
          term = term * term
        end
        return term
      end)
      return x.score + total
    end,
    parameters = { slope = { per = "head", init = 1 } },
  },
}
