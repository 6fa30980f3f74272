-- A loop that does not end.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      local s = x.score
      for i = 1, 1e15 do
        s = s
      end
      return s
    end,
  },
}
