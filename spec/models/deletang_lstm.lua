-- The LSTM of Deletang et al. 2023.
return {
  kind = "recurrent",
  cell = "lstm",
  width = 256,
}
