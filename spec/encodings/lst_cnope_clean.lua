-- A causal mask and no positions, in attention without biases (Ito et al. 2024, as the paper describes it).
return {
  mask = { kind = "causal" },
  projections = { bias = false, init = "linear" },
}
