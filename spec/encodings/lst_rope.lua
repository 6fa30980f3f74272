-- Rotations in attention without biases (Ito et al. 2024, the second implementation of rope in their code).
return {
  rotation = { kind = "rope", base = 10000 },
  projections = { bias = false, init = "linear" },
}
