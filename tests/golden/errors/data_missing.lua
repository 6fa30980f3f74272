-- Alphabets that are not given, and a table that is too short.
return {
  task = { data = "train.jsonl", eval = "test.jsonl" },
  encoding = { additive = { kind = "learned", rows = 100 } },
}
