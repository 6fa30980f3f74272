-- A learned table for every block, with initial values from N(0, init_sigma^2) (Ito et al. 2024).
return {
  additive = { kind = "learned", at = "block", rows = 16, init = "normal", init_sigma = 1, dropout = 0 },
}
