-- Additive GRAPE with gates of queries (Zhang et al. 2025): as `grape_key`, but the gate is computed from the query.
return {
  mask = { kind = "causal" },
  score = function(x)
    local function softplus(y) return -log_sigmoid(-y) end
    local gate = softplus(x.query_gate / sqrt(x.head_width))
    return x.score - abs(x.distance) * x.slope * softplus(x.strength) * gate
  end,
  parameters = {
    slope = { per = "head", values = "alibi_slopes" },
    strength = { per = "layer_head", init = 0.5413248546129181 }, -- log(e - 1), whose softplus is 1
    query_gate = { per = "token", from = "query", unit = true },
  },
}
