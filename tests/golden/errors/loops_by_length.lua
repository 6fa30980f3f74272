-- As many passes as the task length, or a number that every step draws, for a decoder, and dropout in evaluation.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "rope" },
  model = { kind = "decoder", loops = { times = "length", progressive = true } },
  eval = { dropout = true },
}
