-- A penalty that grows with the distance, for queries that see only what is before them (Press et al. 2022).
return {
  mask = { kind = "causal" },
  score = function(x) return x.score + x.slope * x.distance end,
  parameters = { slope = { per = "head", values = "alibi_slopes" } },
}
