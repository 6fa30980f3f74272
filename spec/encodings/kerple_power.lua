-- A penalty that grows with a power of the distance: KERPLE, power (Chi et al. 2022).
--
-- The score is score - p |distance|^a, with p > 0 and 0 < a < 2 learned per head and, as in the authors' code, shared
-- by the layers. The authors clip both parameters to their ranges. Here p is the exponential of a learned parameter,
-- and a is twice the sigmoid of another; p and a start around 1. The power at distance 0 is written as 1^a * 0, because
-- the power's derivative with respect to a contains the logarithm of the distance.
return {
  score = function(x)
    local far = abs(x.distance)
    return x.score - exp(x.log_p) * pow(max(far, 1), 2 * sigmoid(x.raw_a)) * min(far, 1)
  end,
  parameters = {
    log_p = { per = "head", init = { normal = 0.5 } },
    raw_a = { per = "head", init = { normal = 0.5 } },
  },
}
