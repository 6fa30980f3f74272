-- Inference from two samples: Welch's test, its interval, the test of equivalence, Holm's correction, the bootstrap.
--
-- Input: lists of at least two numbers, which are not changed.
-- Sources: Welch, Biometrika 34 (1947) 28; Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987) 657 (two one-sided tests);
-- Holm, Scand. J. Stat. 6 (1979) 65; Efron, Ann. Stat. 7 (1979) 1, intervals by percentiles.

local correlation = require("lab.study.analyze.mathematics.correlation")
local statistics = require("lab.study.read.statistics")
local student = require("lab.study.analyze.mathematics.t_distribution")

local M = {}

local ROUNDING = 1e-12 -- rounding errors of a mean, as a share of the mean

M.SIGNIFICANCE = 0.05 -- significance level of all tests; an interval misses the true value with this probability

-- Whether numbers differ by more than rounding.
function M.varies(values)
  return statistics.sd(values) > ROUNDING * math.abs(statistics.mean(values))
end

-- Returns the result of Welch's two-sided test:
--   difference   the mean of a minus the mean of b
--   error        the standard error of the difference
--   freedom      degrees of freedom
--   t, p         the statistic and its p value
--   low, high    the interval of the difference
-- If neither sample varies, the result has only `difference` and `error`.
function M.test_welch(a, b)
  local variance_a, variance_b = statistics.sd(a) ^ 2 / #a, statistics.sd(b) ^ 2 / #b -- variances of the means
  local mean_a, mean_b = statistics.mean(a), statistics.mean(b)
  local result = { difference = mean_a - mean_b, error = math.sqrt(variance_a + variance_b) }
  if result.error <= ROUNDING * math.max(math.abs(mean_a), math.abs(mean_b)) then
    return result
  end
  result.freedom = (variance_a + variance_b) ^ 2 / (variance_a ^ 2 / (#a - 1) + variance_b ^ 2 / (#b - 1))
  result.t = result.difference / result.error
  result.p = student.compute_two_sided(result.t, result.freedom)
  local half = student.find_critical(M.SIGNIFICANCE / 2, result.freedom) * result.error
  result.low, result.high = result.difference - half, result.difference + half
  return result
end

-- Returns the p value of the test of equivalence; nil if neither sample varies. Null hypothesis: the means differ by at
-- least `margin`. test: the result of M.test_welch.
function M.test_equivalence(test, margin)
  if not test.freedom then
    return nil
  end
  local p_too_low = student.compute_above((test.difference + margin) / test.error, test.freedom)
  local p_too_high = student.compute_above((margin - test.difference) / test.error, test.freedom)
  return math.max(p_too_low, p_too_high)
end

-- Returns the p values after Holm's correction, in the same order.
function M.correct_holm(values)
  local corrected, max_corrected = {}, 0.0
  for rank, i in ipairs(correlation.sort_indices(values)) do
    max_corrected = math.max(max_corrected, math.min(1.0, (#values - rank + 1) * values[i]))
    corrected[i] = max_corrected
  end
  return corrected
end

-- Sets the seed of math.random. Returns a function random(n), which returns an integer from 1 to n.
function M.make_random(seed)
  math.randomseed(seed)
  return function(n)
    return math.floor(math.random() * n) + 1
  end
end

-- Returns `count` values of statistic(list). A list has #items items, sampled from `items` with replacement. All copies
-- of a puzzle must form a single item. All calls get the same table `list`, so `statistic` must not keep it.
function M.resample(items, statistic, count, random)
  local values, list = {}, {}
  for i = 1, count do
    for k = 1, #items do
      list[k] = items[random(#items)]
    end
    values[i] = statistic(list)
  end
  return values
end

-- Returns the ends of the interval. values: from M.resample.
function M.compute_interval(values)
  return statistics.quantile(values, M.SIGNIFICANCE / 2), statistics.quantile(values, 1 - M.SIGNIFICANCE / 2)
end

return M
