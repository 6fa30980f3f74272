-- A sampler in C beside fields of a dataset.
return {
  task = { kind = "bucket_sort", eval = "test.jsonl", longest = 30 },
  train = { epochs = 3, cadence = "epochs" },
}
