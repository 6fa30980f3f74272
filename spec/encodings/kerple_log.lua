-- A penalty that grows with the logarithm of the distance: KERPLE, logarithmic (Chi et al. 2022).
--
-- score - p log(1 + a |distance|) with p, a > 0 learned per head and, as in the authors' code, shared by the layers.
-- The authors start p and a uniform in 0..2 and 0..1 and clip them at 0.01. Here the parameters are their logarithms:
-- both stay positive at any step size, and they start around 1.
return {
  score = function(x)
    return x.score - exp(x.log_p) * log1p(exp(x.log_a) * abs(x.distance))
  end,
  parameters = {
    log_p = { per = "head", init = { normal = 0.5 } },
    log_a = { per = "head", init = { normal = 0.5 } },
  },
}
