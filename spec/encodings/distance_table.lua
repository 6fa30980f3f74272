-- A free learned number per head for each distance up to 64, on both sides or, under a causal mask, on the left alone.
-- Farther distances share the number of distance 64.
--
-- The scalar form of clipped relative positions (Shaw et al. 2018).
return {
  score = function(x)
    return x.score + lookup(x.bias, x.distance)
  end,
  parameters = { bias = { per = "head", index = { -64, 64 }, by_distance = true, outside = "clip", init = 0 } },
}
