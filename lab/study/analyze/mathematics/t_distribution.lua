-- Student's t distribution, for positive degrees of freedom, integers or not.
--
-- For up to 200,000 degrees of freedom, relative errors are below 1e-10 (tests/lua/test_inference.lua).
-- A tail is a quotient of two integrals of the density, so the density's constant factor cancels. The exp-sinh rule
-- computes both integrals: Takahasi and Mori, Publ. RIMS 9 (1974) 721.

local bisect = require("lab.study.analyze.mathematics.bisect")

local M = {}

local STEP, LAST = 1 / 16, 6 -- the rule's variable goes from -LAST to LAST in steps of STEP

-- Returns the integral of the density from t to infinity, without the constant factor of the density; t >= 0.
local function integrate(t, freedom)
  local sum = 0.0
  for u = -LAST, LAST, STEP do
    local exp_u, exp_minus_u = math.exp(u), math.exp(-u)
    local distance = (1 + t) * math.exp(math.pi / 4 * (exp_u - exp_minus_u))
    sum = sum + distance * (exp_u + exp_minus_u) * (1 + (t + distance) ^ 2 / freedom) ^ (-(freedom + 1) / 2)
  end
  return sum
end

-- Returns the probability of a value at least as far from 0 as t.
function M.compute_two_sided(t, freedom)
  return t * t < math.huge and integrate(math.abs(t), freedom) / integrate(0, freedom) or 0.0
end

-- Returns the probability of a value above t.
function M.compute_above(t, freedom)
  local share = M.compute_two_sided(t, freedom) / 2
  return t > 0 and share or 1 - share
end

-- Returns t such that a value is above t with probability `share`; 0 < share < 0.5.
function M.find_critical(share, freedom)
  local high = 1.0
  while M.compute_above(high, freedom) > share do
    high = 2 * high
  end
  return bisect(0.0, high, function(t) return M.compute_above(t, freedom) > share end)
end

return M
