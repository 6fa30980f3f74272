-- Forgetting attention (Lin et al. 2025): a token forgets the tokens before it, at a rate computed from its input.
--
-- A logit gets the sum of log f over the tokens after the key, up to the query. f = sigmoid(gate) is the token's forget
-- gate, one for each head. This is the paper's form without the Pro block. If a query also sees later keys, it forgets
-- on both sides: for a later key, the sum is over the tokens after the query, up to the key.
return {
  mask = { kind = "causal" },
  score = function(x)
    local forgotten = sum_between(log_sigmoid(x.gate))
    return x.score + select(equal(x.causal, 1), forgotten, -abs(forgotten))
  end,
  parameters = { gate = { per = "token" } },
}
