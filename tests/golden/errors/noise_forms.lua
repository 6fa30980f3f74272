-- Noise in other forms, and an axis of a file that is called so.
return {
  task = { data = "train.jsonl", input_symbols = 4, output_symbols = 2, axes = { "digits", "noise" } },
  eval = { by = { noise = { 0, 3, step = 0.5 }, digits = true }, during = { every = 5, by = { noise = true } } },
}
