-- Additive GRAPE with gates of keys (Zhang et al. 2025): the penalty of ALiBi, times a learned strength and a gate that
-- is computed from the key, with a learned unit vector for each head.
return {
  mask = { kind = "causal" },
  score = function(x)
    local function softplus(y) return -log_sigmoid(-y) end
    local gate = softplus(x.key_gate / sqrt(x.head_width))
    return x.score - abs(x.distance) * x.slope * softplus(x.strength) * gate
  end,
  parameters = {
    slope = { per = "head", values = "alibi_slopes" },
    strength = { per = "layer_head", init = 0.5413248546129181 }, -- log(e - 1), whose softplus is 1
    key_gate = { per = "token", from = "key", unit = true },
  },
}
