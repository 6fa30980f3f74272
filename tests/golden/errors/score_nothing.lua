-- A function that returns nothing.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      local s = x.score + 1
    end,
  },
}
