-- A function that calls itself.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      local function again(a)
        return 1 + again(a)
      end
      return again(x.score)
    end,
  },
}
