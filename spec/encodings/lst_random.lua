-- A table for every block, sampled from N(0, 1) and never trained (Ito et al. 2024).
return {
  additive = { kind = "learned", learned = false, at = "block", rows = 16, init = "normal", init_sigma = 1,
    dropout = 0 },
}
