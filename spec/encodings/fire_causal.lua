-- FIRE as in its paper (Li et al. 2024): query i sees no later keys, and its farthest key is i tokens away.
--
-- The score of query i and key j gets the term f(psi(i - j) / psi(max(threshold, i))), with psi(n) = log(1 + c n). The
-- network f, its parameters and their initial values are those of `fire`, which also sees keys to the right. Both
-- encodings give the same term for a key to the left if T - 1 - i is at most i or at most the threshold; with the
-- initial threshold, this holds in all sequences of at most 512 tokens. This encoding is made for decoders; in an
-- encoder-decoder, the encoder sees both sides and uses the form of `fire`.
return {
  use = "fire",
  mask = { kind = "causal" },
  score = function(x)
    local causal = equal(x.causal, 1)
    local farthest = select(causal, x.query_index, max(x.query_index, x.key_length - 1 - x.query_index))
    local share = log1p(abs(x.scale * x.distance)) / log1p(abs(x.scale) * max(abs(512 * x.threshold), farthest))
    local signed = select(causal, share, select(less(0, x.distance), -share, share))
    return x.score + x.output_bias + sum(32, function(m)
      local hidden = max(0, lookup(x.weight, m) * signed + lookup(x.bias, m))
      return lookup(x.output_weight, m) * hidden
    end)
  end,
}
