-- A learned number per head for each distance up to 64, on both sides or, under a causal mask, only on the left.
-- Greater distances share the number of distance 64.
--
-- This is the form of clipped relative positions (Shaw et al. 2018) with scalars instead of vectors.
return {
  score = function(x)
    return x.score + lookup(x.bias, x.distance)
  end,
  parameters = { bias = { per = "head", index = { -64, 64 }, by_distance = true, outside = "clip", init = 0 } },
}
