-- A penalty that grows with the distance, steeper in some heads (Press et al. 2022; Ruoss et al. 2023).
--
-- The penalty is made symmetric for encoders: keys to the left are moved half a step nearer, which separates the sides.
return {
  score = function(x)
    return x.score + x.slope * (-abs(x.distance) + select(less(x.distance, 0), 0.5, 0))
  end,
  parameters = { slope = { per = "head", values = "alibi_slopes" } },
}
