-- The tape-RNN of Deletang et al. 2023; the tape has a cell for each token of the longest input.
return {
  kind = "recurrent",
  cell = "tape_rnn",
  width = 256,
}
