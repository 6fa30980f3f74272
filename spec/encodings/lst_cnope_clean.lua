-- A causal mask and no positions (Ito et al. 2024, as the paper has it), attention without biases.
return {
  mask = { kind = "causal" },
  projections = { bias = false, init = "linear" },
}
