-- A penalty that grows with the distance, for queries that see no later keys (Press et al. 2022). This encoding is made
-- for decoders; in an encoder-decoder, the encoder sees both sides and uses the form of `alibi`.
return {
  mask = { kind = "causal" },
  score = function(x)
    local two_sided = select(less(x.distance, 0), 0.5, 0) - abs(x.distance)
    return x.score + x.slope * select(equal(x.causal, 1), x.distance, two_sided)
  end,
  parameters = { slope = { per = "head", values = "alibi_slopes" } },
}
