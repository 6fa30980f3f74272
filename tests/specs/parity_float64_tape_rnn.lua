-- A recurrent model with a tape of seven cells, around which inputs of more tokens jump; in float64
-- (tests/unit/test_parity.c).
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "none" },
  model    = { kind = "recurrent", cell = "tape_rnn", width = 16, cells = 7 },
  train    = { use = "deletang", lengths = { 1, 18 }, batch = 21, shards = 3 },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
