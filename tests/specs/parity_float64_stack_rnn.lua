-- A recurrent model with a stack that is full after five steps; in float64 (tests/unit/test_parity.c).
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "none" },
  model    = { kind = "recurrent", cell = "stack_rnn", width = 16, cells = 5 },
  train    = { use = "deletang", lengths = { 1, 18 }, batch = 21, shards = 3 },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
