-- Student's t distribution, for any positive degrees of freedom, whole or not.
--
-- Input: numbers. Output: a number, within a relative error of 1e-10 (tests/lua/test_inference.lua compares it with
-- SciPy's).
-- The tail is a regularised incomplete beta function (DLMF 8.17, https://dlmf.nist.gov/8.17): its continued fraction
-- (8.17.22), summed by Lentz's method in the form of Thompson and Barnett, J. Comput. Phys. 64 (1986) 490, on the side
-- of the mean where it converges fast (8.17.4). The logarithm of the gamma function is Stirling's series (5.11.1) of a
-- number that the recurrence (5.5.1) has made large enough.

local M = {}

local TINY = 1e-300       -- replaces a denominator of 0
local ROUNDING = 2.3e-16  -- the fraction ends at a factor this close to 1
local MOST_TERMS = 10000  -- far more than necessary: about the root of the larger parameter

-- B_2k / (2k (2k - 1)), k from 1, with the Bernoulli numbers B.
local STIRLING = { 1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156 }
local LARGE = 15 -- from here on the first omitted term is below 1e-19

-- The logarithm of the gamma function of x > 0.
local function log_gamma(x)
  local shift = 0.0
  while x < LARGE do
    shift, x = shift + math.log(x), x + 1
  end
  local sum, power = 0.0, 1 / x
  for _, coefficient in ipairs(STIRLING) do
    sum, power = sum + coefficient * power, power / (x * x)
  end
  return (x - 0.5) * math.log(x) - x + 0.5 * math.log(2 * math.pi) + sum - shift
end

-- The coefficients d_1, d_2 ... of 8.17.23 and 8.17.24.
local function coefficient(n, a, b, x)
  local m = n // 2
  if n % 2 == 0 then
    return m * (b - m) * x / ((a + n - 1) * (a + n))
  end
  return -(a + m) * (a + b + m) * x / ((a + n - 1) * (a + n))
end

local function not_zero(x)
  return math.abs(x) < TINY and TINY or x
end

-- 1 / (1 + d_1 / (1 + d_2 / (1 + ...))).
local function fraction(a, b, x)
  local value, c, d = 1.0, 1.0, 0.0
  for n = 1, MOST_TERMS do
    local term = coefficient(n, a, b, x)
    d = 1 / not_zero(1 + term * d)
    c = not_zero(1 + term / c)
    value = value * c * d
    if math.abs(c * d - 1) < ROUNDING then
      break
    end
  end
  return 1 / value
end

-- The regularised incomplete beta function at x; rest is 1 - x, which the caller knows more exactly.
local function beta(x, rest, a, b)
  if x <= 0 or rest <= 0 then
    return x <= 0 and 0.0 or 1.0
  elseif x > (a + 1) / (a + b + 2) then
    return 1 - beta(rest, x, b, a)
  end
  local front = a * math.log(x) + b * math.log(rest) + log_gamma(a + b) - log_gamma(a) - log_gamma(b)
  return math.exp(front) / a * fraction(a, b, x)
end

-- Returns the probability of a value farther from 0 than t, on either side.
function M.two_sided(t, freedom)
  local square = t * t
  if square == math.huge then
    return 0.0
  end
  local whole = freedom + square
  return beta(freedom / whole, square / whole, freedom / 2, 0.5)
end

-- Returns the probability of a value above t.
function M.above(t, freedom)
  local tail = M.two_sided(t, freedom) / 2
  return t > 0 and tail or 1 - tail
end

-- Returns the t that a value exceeds with probability `share`, 0 < share < 0.5.
function M.critical(share, freedom)
  local low, high = 0.0, 1.0
  while M.above(high, freedom) > share do
    low, high = high, 2 * high
  end
  while true do
    local middle = low + (high - low) / 2
    if middle <= low or middle >= high then
      return middle
    elseif M.above(middle, freedom) > share then
      low = middle
    else
      high = middle
    end
  end
end

return M
