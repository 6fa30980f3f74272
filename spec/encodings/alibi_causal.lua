-- A penalty that grows with the distance, for queries that see only keys before them (Press et al. 2022). It is made
-- for decoders; the encoder of an encoder-decoder sees both sides and uses the form of `alibi`.
return {
  mask = { kind = "causal" },
  score = function(x)
    local both = select(less(x.distance, 0), 0.5, 0) - abs(x.distance)
    return x.score + x.slope * select(equal(x.causal, 1), x.distance, both)
  end,
  parameters = { slope = { per = "head", values = "alibi_slopes" } },
}
