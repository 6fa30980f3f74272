-- The stack-RNN of Deletang et al. 2023, with one stack, which has no limit here.
return {
  kind = "recurrent",
  cell = "stack_rnn",
  width = 256,
}
