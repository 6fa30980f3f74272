-- Comparisons in a function body.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      if x.distance < 0 then
        return x.score
      end
      return x.distance == 0 and x.score or 0
    end,
  },
}
