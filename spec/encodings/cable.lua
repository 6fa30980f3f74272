-- Context-aware biases (Veisi et al. 2025): `fox` with negated gates, and logits without the factor 1 / sqrt(head
-- width), as in the authors' code.
return {
  mask = { kind = "causal" },
  score = function(x)
    local penalty = sum_between(log_sigmoid(-x.gate))
    return x.score * sqrt(x.head_width) + select(equal(x.causal, 1), penalty, -abs(penalty))
  end,
  parameters = { gate = { per = "token" } },
}
