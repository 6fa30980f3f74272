-- Finite data beside what only samplers have.
return {
  task = { data = "train.jsonl", input_symbols = 0, output_symbols = { "a", 'b"c' } },
  train = { lengths = { 1, 40 }, epochs = 3, steps = 100 },
  eval = { lengths = { list = { 5 } }, during = { every = 10, lengths = { 1, 2 } } },
}
