-- Rotations in attention without biases (Ito et al. 2024, its second implementation).
return {
  rotation = { kind = "rope", base = 10000 },
  projections = { bias = false, init = "linear" },
}
