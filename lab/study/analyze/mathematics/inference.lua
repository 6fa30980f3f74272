-- Statistical inference from two samples: Welch's test, its confidence interval, the test of equivalence, Holm's
-- correction, the bootstrap.
--
-- Input: lists of numbers, at least two in each, in any order; they are not changed. Output: see each function.
-- Sources: Welch, Biometrika 34 (1947) 28; Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987) 657 (two one-sided tests);
-- Holm, Scand. J. Stat. 6 (1979) 65; Efron, Ann. Stat. 7 (1979) 1, intervals by percentiles.

local correlation = require("lab.study.analyze.mathematics.correlation")
local statistics = require("lab.study.read.statistics")
local student = require("lab.study.analyze.mathematics.t_distribution")

local M = {}

local FLAT = 1e-12 -- share of the means: a standard error below is rounding of equal numbers

M.ERROR = 0.05 -- type I error: the level of all tests, and the probability outside an interval

-- Whether numbers differ by more than rounding.
function M.varies(values)
  return statistics.sd(values) > FLAT * math.abs(statistics.mean(values))
end

-- The difference of the means, a - b: { difference, error, freedom, t, p, low, high }: its standard error, Welch's
-- degrees of freedom, the two-sided test against 0 and the interval. If neither sample varies, there is no test:
-- difference and error alone.
function M.welch(a, b)
  local of_a, of_b = statistics.sd(a) ^ 2 / #a, statistics.sd(b) ^ 2 / #b
  local mean_a, mean_b = statistics.mean(a), statistics.mean(b)
  local result = { difference = mean_a - mean_b, error = math.sqrt(of_a + of_b) }
  if result.error <= FLAT * math.max(math.abs(mean_a), math.abs(mean_b)) then
    return result
  end
  result.freedom = (of_a + of_b) ^ 2 / (of_a ^ 2 / (#a - 1) + of_b ^ 2 / (#b - 1))
  result.t = result.difference / result.error
  result.p = student.two_sided(result.t, result.freedom)
  local half = student.critical(M.ERROR / 2, result.freedom) * result.error
  result.low, result.high = result.difference - half, result.difference + half
  return result
end

-- The test of equivalence: p of the claim that the means are less than `margin` apart, which is the larger p of two
-- one-sided tests. test: the result of M.welch; nil if it has no test.
function M.equivalence(test, margin)
  if not test.freedom then
    return nil
  end
  local above_low = student.above((test.difference + margin) / test.error, test.freedom)
  local below_high = student.above((margin - test.difference) / test.error, test.freedom)
  return math.max(above_low, below_high)
end

-- The p values of a family of tests corrected by Holm's method, in the order given.
function M.holm(values)
  local corrected, largest = {}, 0.0
  for rank, i in ipairs(correlation.order(values)) do
    largest = math.max(largest, math.min(1.0, (#values - rank + 1) * values[i]))
    corrected[i] = largest
  end
  return corrected
end

-- A separate sequence of random numbers: drawing(n) is an integer from 1 to n. It uses Lua's one generator: only one
-- sequence can be in use at a time.
function M.random(seed)
  math.randomseed(seed)
  return function(n)
    return math.floor(math.random() * n) + 1
  end
end

-- `count` values of statistic(list), each of a list of as many items, sampled from `items` with replacement. Values
-- that belong together form one item: with puzzles that are variants of a base, an item is the list of a base's
-- variants. All calls get the same table.
function M.resample(items, statistic, count, drawing)
  local values, list = {}, {}
  for i = 1, count do
    for k = 1, #items do
      list[k] = items[drawing(#items)]
    end
    values[i] = statistic(list)
  end
  return values
end

-- The interval that all but ERROR of the resampled values lie in.
function M.interval(values)
  return statistics.quantile(values, M.ERROR / 2), statistics.quantile(values, 1 - M.ERROR / 2)
end

return M
