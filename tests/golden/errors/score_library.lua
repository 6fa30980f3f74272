-- One of the functions as a score.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = abs,
  },
}
