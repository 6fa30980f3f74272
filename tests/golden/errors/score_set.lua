-- A function from the command line.
-- set: encoding.score={ score = function(x) return x.score * 2 end }
return {
  task = { kind = "bucket_sort" },
  encoding = {
    kind = "alibi",
  },
}
