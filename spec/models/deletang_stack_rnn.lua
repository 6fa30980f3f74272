-- The stack-RNN of Deletang et al. 2023, with one stack, whose depth is not limited here.
return {
  kind = "recurrent",
  cell = "stack_rnn",
  width = 256,
}
