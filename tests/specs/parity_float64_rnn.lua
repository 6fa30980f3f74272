-- A recurrent model, whose products of a step have 8, 8 and 5 rows; in float64 (tests/unit/test_parity.c).
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "none" },
  model    = { kind = "recurrent", cell = "rnn", width = 16 },
  train    = { use = "deletang", lengths = { 1, 18 }, batch = 21, shards = 3 },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
