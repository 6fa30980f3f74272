-- An LSTM has no stack.
return {
  task = { kind = "parity_check" },
  encoding = { kind = "none" },
  model = { kind = "recurrent", cell = "lstm", cells = 40 },
  train = { use = "deletang" },
}
