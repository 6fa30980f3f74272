-- Positions of tokens where distances are drawn.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      return x.score - abs(x.query - x.key)
    end,
    positions = { kind = "randomized" },
  },
}
