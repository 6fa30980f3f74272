-- Division by the constant zero.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      local nothing = 0
      return x.score +
        abs(x.distance) / nothing
    end,
  },
}
