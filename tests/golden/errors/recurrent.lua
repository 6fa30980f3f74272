-- A recurrent model reads neither an encoding nor what concerns attention.
return {
  task = { kind = "parity_check" },
  encoding = { kind = "rope", score = { use = "alibi" }, mask = { kind = "causal" } },
  model = { kind = "recurrent" },
  train = { block_tokens = 128, keep_probabilities = true },
  eval = { by = { noise = { list = { 0, 0.5 } } } },
}
