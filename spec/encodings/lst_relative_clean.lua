-- Vectors of distances to both sides (Ito et al. 2024, as the paper describes it: Shaw et al. 2018).
return {
  relative = { kind = "shaw", clip = 15, init_sigma = 1 },
  projections = { bias = true, init = "linear" },
}
