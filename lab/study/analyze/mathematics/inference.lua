-- Inference from two samples: Welch's test, its interval, the test of equivalence, Holm's correction, the bootstrap.
--
-- Input: lists of at least two numbers each, in any order, which are not changed. Output: see each function.
-- Sources: Welch, Biometrika 34 (1947) 28; Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987) 657 (two one-sided tests);
-- Holm, Scand. J. Stat. 6 (1979) 65; Efron, Ann. Stat. 7 (1979) 1, intervals by percentiles.

local correlation = require("lab.study.analyze.mathematics.correlation")
local statistics = require("lab.study.read.statistics")
local student = require("lab.study.analyze.mathematics.t_distribution")

local M = {}

local MIN_ERROR_SHARE = 1e-12 -- deviations and errors up to this share of the mean are rounding

M.ERROR = 0.05 -- type I error: the level of all tests, and the probability outside an interval

-- Whether numbers differ by more than rounding.
function M.varies(values)
  return statistics.sd(values) > MIN_ERROR_SHARE * math.abs(statistics.mean(values))
end

-- Returns Welch's test of the difference of means, a - b: { difference, error (standard error), freedom (degrees of
-- freedom), t, p (two-sided, against 0), low, high (the interval) }. If neither sample varies: { difference, error }.
function M.test_welch(a, b)
  local variance_a, variance_b = statistics.sd(a) ^ 2 / #a, statistics.sd(b) ^ 2 / #b -- variances of the means
  local mean_a, mean_b = statistics.mean(a), statistics.mean(b)
  local result = { difference = mean_a - mean_b, error = math.sqrt(variance_a + variance_b) }
  if result.error <= MIN_ERROR_SHARE * math.max(math.abs(mean_a), math.abs(mean_b)) then
    return result
  end
  result.freedom = (variance_a + variance_b) ^ 2 / (variance_a ^ 2 / (#a - 1) + variance_b ^ 2 / (#b - 1))
  result.t = result.difference / result.error
  result.p = student.compute_two_sided(result.t, result.freedom)
  local half = student.find_critical(M.ERROR / 2, result.freedom) * result.error
  result.low, result.high = result.difference - half, result.difference + half
  return result
end

-- Returns p of the test of equivalence, whose null hypothesis is that the means differ by at least `margin`: the larger
-- p of two one-sided tests, whose null hypotheses are difference <= -margin and difference >= margin. test: the result
-- of M.test_welch. Returns nil if neither sample varies.
function M.test_equivalence(test, margin)
  if not test.freedom then
    return nil
  end
  local p_below = student.compute_above((test.difference + margin) / test.error, test.freedom)
  local p_above = student.compute_above((margin - test.difference) / test.error, test.freedom)
  return math.max(p_below, p_above)
end

-- Returns the p values, in the same order, after Holm's correction for their number.
function M.correct_holm(values)
  local corrected, max_corrected = {}, 0.0
  for rank, i in ipairs(correlation.sort_indices(values)) do
    max_corrected = math.max(max_corrected, math.min(1.0, (#values - rank + 1) * values[i]))
    corrected[i] = max_corrected
  end
  return corrected
end

-- Returns a function random(n): a random integer from 1 to n. Each call seeds Lua's only generator.
function M.make_random(seed)
  math.randomseed(seed)
  return function(n)
    return math.floor(math.random() * n) + 1
  end
end

-- Returns `count` values of statistic(list), where each list has #items items that are sampled from `items` with
-- replacement. Values that depend on each other form one item, such as all puzzles that are copies of one puzzle.
-- `list` is the same table in all calls, so `statistic` must not keep it.
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

-- Returns the interval between the quantiles ERROR / 2 and 1 - ERROR / 2 of the resampled values.
function M.compute_interval(values)
  return statistics.quantile(values, M.ERROR / 2), statistics.quantile(values, 1 - M.ERROR / 2)
end

return M
