-- The simple RNN of Deletang et al. 2023.
return {
  kind = "recurrent",
  cell = "rnn",
  width = 256,
}
