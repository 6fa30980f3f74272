-- Vectors of distances to the left, under a causal mask (Ito et al. 2024, released code). Attention has linear layers
-- for queries, keys and values, but no output projection.
return {
  made_for = "decoder",
  relative = { kind = "shaw", clip = 15, sides = "left", init_sigma = 1 },
  mask = { kind = "causal" },
  projections = { bias = true, output = false, init = "linear" },
}
