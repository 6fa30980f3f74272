-- A loss after every pass with a feed-forward part after the last pass alone.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "rope" },
  model = { output = "feedforward", loops = { times = 4, loss = "every" } },
}
