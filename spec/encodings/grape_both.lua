-- Additive GRAPE with gates of queries and keys (Zhang et al. 2025): as `grape_key`, but the penalty is multiplied by
-- the sum of two gates, one of the query and one of the key, each with its own vector.
return {
  mask = { kind = "causal" },
  score = function(x)
    local function softplus(y) return -log_sigmoid(-y) end
    local gates = softplus(x.key_gate / sqrt(x.head_width)) + softplus(x.query_gate / sqrt(x.head_width))
    return x.score - abs(x.distance) * x.slope * softplus(x.strength) * gates
  end,
  parameters = {
    slope = { per = "head", values = "alibi_slopes" },
    strength = { per = "layer_head", init = 0.5413248546129181 }, -- log(e - 1), whose softplus is 1
    key_gate = { per = "token", from = "key", unit = true },
    query_gate = { per = "token", from = "query", unit = true },
  },
}
