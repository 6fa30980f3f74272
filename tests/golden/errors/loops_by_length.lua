-- As many passes as the task length, or a number that every step draws, for a decoder with a loss after every pass and
-- a norm after the last, and dropout in evaluation.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "rope" },
  model = { kind = "decoder", norm = { place = "pre" },
    loops = { times = "length", progressive = true, loss = "every" } },
  eval = { dropout = true },
}
