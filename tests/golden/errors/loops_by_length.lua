-- As many passes as the task length, for a decoder, and dropout in evaluation.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "rope" },
  model = { kind = "decoder", loops = { times = "length" } },
  eval = { dropout = true },
}
