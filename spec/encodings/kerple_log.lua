-- A penalty that grows with the logarithm of the distance: KERPLE, logarithmic (Chi et al. 2022).
--
-- The score is score - p log(1 + a |distance|), with p, a > 0 learned per head and, as in the authors' code, shared by
-- the layers. In the authors' code p and a have uniform initial values in 0..2 and 0..1, and are clipped at 0.01. Here
-- the learned parameters are the logarithms of p and a, so that both stay positive at any learning rate; p and a start
-- around 1.
return {
  score = function(x)
    return x.score - exp(x.log_p) * log1p(exp(x.log_a) * abs(x.distance))
  end,
  parameters = {
    log_p = { per = "head", init = { normal = 0.5 } },
    log_a = { per = "head", init = { normal = 0.5 } },
  },
}
