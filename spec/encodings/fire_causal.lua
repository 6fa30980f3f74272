-- FIRE as in its paper (Li et al. 2024): query i sees keys up to its own, and the farthest is i away.
--
-- f(psi(i - j) / psi(max(threshold, i))), psi(n) = log(1 + c n); f, its parameters and where they start are those of
-- `fire`, which looks to both sides. The two agree on keys to the left where T - 1 - i exceeds neither i nor the
-- threshold, as in all sequences of at most 512 tokens before training.
return {
  use = "fire",
  mask = { kind = "causal" },
  score = function(x)
    local threshold = abs(512 * x.threshold)
    local share = log1p(abs(x.scale * x.distance)) / log1p(abs(x.scale) * max(threshold, x.query_index))
    return x.score + x.output_bias + sum(32, function(c)
      local hidden = max(0, lookup(x.weight, c) * share + lookup(x.bias, c))
      return lookup(x.output_weight, c) * hidden
    end)
  end,
}
