-- The power of Student's two-sided t test for two samples of equal size. Both samples come from normal distributions
-- with the same standard deviation. Welch's test differs only in its estimate of the degrees of freedom.
--
-- Input: the difference of means, and the standard deviation; both are positive.
-- Let Z be a standard normal number, and U = sqrt(chi^2 / f) for f degrees of freedom, independent of Z. The test
-- rejects if |Z + shift| > critical * U. The power is the probability of this event. Simpson's rule integrates over U.

local inference = require("lab.study.analyze.mathematics.inference")
local student = require("lab.study.analyze.mathematics.t_distribution")

local M = {}

local MIN_SEEDS = 2
M.MAX_SEEDS = 100000 -- largest size of a sample that M.find_count tries

local INTERVALS = 120 -- intervals of Simpson's rule
local HALF_WIDTH = 10 -- half of the range of U, in standard deviations of U, which are about 1 / sqrt(2 f)

local critical_values = {} -- by degrees of freedom

local function find_critical(freedom)
  critical_values[freedom] = critical_values[freedom] or student.find_critical(inference.SIGNIFICANCE / 2, freedom)
  return critical_values[freedom]
end

-- Returns the probability of a standard normal number below x. Source: Marsaglia, J. Stat. Softw. 11 (2004).
local function compute_normal(x)
  if math.abs(x) > 8 then
    return x > 0 and 1.0 or 0.0
  end
  local sum, term, odd = x, x, 1
  while math.abs(term) > 1e-17 * math.abs(sum) do
    odd = odd + 2
    term = term * x * x / odd
    sum = sum + term
  end
  return 0.5 + sum * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
end

-- Returns the power with `count` values in each sample.
function M.compute(difference, sd, count)
  local freedom = 2 * count - 2
  local critical, shift = find_critical(freedom), difference / (sd * math.sqrt(2 / count))
  local half = HALF_WIDTH / math.sqrt(2 * freedom)
  local low, high = math.max(0, 1 - half), 1 + half
  local peak = (freedom - 1) / 2 * (math.log((freedom - 1) / freedom) - 1) -- log of the density at its mode
  local sum, total = 0.0, 0.0
  for i = 0, INTERVALS do
    local u = low + (high - low) * i / INTERVALS
    local weight = (i == 0 or i == INTERVALS) and 1 or i % 2 == 1 and 4 or 2
    local density = u > 0 and weight * math.exp((freedom - 1) * math.log(u) - freedom * u * u / 2 - peak) or 0
    total = total + density
    sum = sum + density * (compute_normal(shift - critical * u) + compute_normal(-shift - critical * u))
  end
  return sum / total
end

-- Returns the smallest size of a sample with at least this power; nil if it exceeds MAX_SEEDS.
function M.find_count(difference, sd, power)
  local too_small, large_enough = MIN_SEEDS - 1, MIN_SEEDS
  while M.compute(difference, sd, large_enough) < power do
    if large_enough == M.MAX_SEEDS then
      return nil
    end
    too_small, large_enough = large_enough, math.min(2 * large_enough, M.MAX_SEEDS)
  end
  while large_enough - too_small > 1 do
    local middle = (too_small + large_enough) // 2
    if M.compute(difference, sd, middle) < power then
      too_small = middle
    else
      large_enough = middle
    end
  end
  return large_enough
end

return M
