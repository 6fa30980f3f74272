-- A penalty that grows with the distance, steeper in some heads; half a step tells the sides apart (Ruoss et al. 2023).
--
-- Press et al. 2022, made symmetric for encoders: keys to the left are moved half a step nearer.
return {
  score = function(x)
    return x.score + x.slope * (-abs(x.distance) + select(less(x.distance, 0), 0.5, 0))
  end,
  parameters = { slope = { per = "head", values = "alibi_slopes" } },
}
