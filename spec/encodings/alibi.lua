-- A penalty that grows with the distance, steeper in some heads (Press et al. 2022; Ruoss et al. 2023).
--
-- For encoders the penalty applies to both sides. Keys to the left count as half a step nearer, so that the score
-- differs between keys at the same distance on the left and on the right.
return {
  score = function(x)
    return x.score + x.slope * (-abs(x.distance) + select(less(x.distance, 0), 0.5, 0))
  end,
  parameters = { slope = { per = "head", values = "alibi_slopes" } },
}
