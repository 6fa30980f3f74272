-- Computation tokens make sequences of a file longer than what its examples have.
return {
  task = { data = "train.jsonl", input_symbols = 2, output_symbols = 2, longest = 40, computation = 2 },
  encoding = { kind = "learned", additive = { rows = 100 } },
}
