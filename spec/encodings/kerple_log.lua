-- A penalty that grows with the logarithm of the distance: KERPLE, logarithmic (Chi et al. 2022).
--
-- score - p log(1 + a |distance|) with p, a > 0 learned per head and layer; their logarithms are the parameters, which
-- keeps both positive at any step size.
return {
  score = function(x)
    return x.score - exp(x.log_p) * log1p(exp(x.log_a) * abs(x.distance))
  end,
  parameters = {
    log_p = { per = "layer_head", init = { normal = 0.5 } },
    log_a = { per = "layer_head", init = { normal = 0.5 } },
  },
}
