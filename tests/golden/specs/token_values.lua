-- A score that reads products of queries, keys and learned vectors, for a pair's tokens and in a sum, without a table.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      return x.score + x.distance * x.from_query - x.from_key + sum_between(x.summed)
    end,
    parameters = {
      from_query = { per = "token", from = "query", init = 0.5 },
      from_key = { per = "token", from = "key" },
      summed = { per = "token", from = "query", unit = true },
    },
  },
}
