-- Axes of a file that names others.
return {
  task = { data = "train.jsonl", input_symbols = 4, output_symbols = 2, axes = { "digits", "carry" }, seed = 3 },
  eval = { by = { digits = { 1, 50 }, carries = true, length = { 0, 4 } } },
}
