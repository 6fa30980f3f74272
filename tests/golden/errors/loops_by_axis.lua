-- Passes by an axis that the task lacks, with progressive training, for a decoder.
return {
  task = { kind = "latin_square" },
  encoding = { kind = "none" },
  model = { kind = "decoder", loops = { times = "carry", progressive = true } },
}
