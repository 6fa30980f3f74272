-- Two answers to one question, one of them a file of examples.
return {
  task = { kind = "bucket_sort", data = "train.jsonl", input_symbols = 5, output_symbols = 5 },
}
