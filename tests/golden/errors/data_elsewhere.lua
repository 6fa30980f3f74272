-- What goes with a dataset, beside a sampler.
return {
  task = { kind = "bucket_sort", eval = "test.jsonl", longest = 30 },
  train = { epochs = 3, cadence = "epochs" },
}
