-- A recurrent model, trained on shards of five and six sequences.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "none" },
  model    = { kind = "recurrent", cell = "lstm", width = 32 },
  train    = { use = "deletang", lengths = { 1, 9 }, batch = 16, shards = 3 },
  eval     = { lengths = { 1, 9 }, examples = 4 },
}
