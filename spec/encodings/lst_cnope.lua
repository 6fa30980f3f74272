-- A causal mask and no positions (Ito et al. 2024, released code): logits times 100, attention without biases.
return {
  mask = { kind = "causal" },
  normaliser = { temperature = 0.01 },
  projections = { bias = false, init = "linear" },
}
