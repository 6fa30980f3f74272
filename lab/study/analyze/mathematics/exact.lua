-- Tests without an assumption on the distribution of scores, for few seeds and for cells in which only some seeds
-- learn: an exact interval of a share, Fisher's test of two shares, a permutation test of two means.
--
-- Input: counts, or lists of numbers, which are not changed. Output: see each function; all p are two-sided.
-- Sources: Clopper and Pearson, Biometrika 26 (1934) 404; Fisher, The Design of Experiments (1935), sections 11 and 21.

local bisect = require("lab.study.analyze.mathematics.bisect")
local lists = require("base.lists")
local statistics = require("lab.study.read.statistics")

local M = {}

local MAX_ENUMERATED_SPLITS = 50000 -- 9 against 9 seeds have 48,620 splits
local SLACK = 1 + 1e-7 -- probabilities within this factor count as equal, because of rounded logarithms
local ROUNDING = 1e-9 -- differences of means within this share of the largest score count as equal

-- Logarithms of n!, by n; the table grows on demand.
local factorials = { [0] = 0.0 }

local function compute_log_factorial(n)
  for i = #factorials + 1, n do
    factorials[i] = factorials[i - 1] + math.log(i)
  end
  return factorials[n]
end

local function compute_log_choices(n, k)
  return compute_log_factorial(n) - compute_log_factorial(k) - compute_log_factorial(n - k)
end

local function count_choices(n, k)
  local ways = 1.0
  for i = 1, math.min(k, n - k) do
    ways = ways * (n - i + 1) / i
  end
  return ways
end

-- Returns the probability of at least `count` successes in n trials with success probability `share`, between 0 and 1.
local function compute_tail(count, n, share)
  local sum = 0.0
  for i = count, n do
    sum = sum + math.exp(compute_log_choices(n, i) + i * math.log(share) + (n - i) * math.log(1 - share))
  end
  return sum
end

-- Returns the share, the success probability of one trial, for which compute_tail(count, n, share) is `probability`.
local function find_share(count, n, probability)
  return bisect(0.0, 1.0, function(share) return compute_tail(count, n, share) < probability end)
end

-- Returns low and high of Clopper and Pearson's interval, of level 1 - error, for `count` successes in n trials.
function M.compute_interval(count, n, error)
  local low = count == 0 and 0.0 or find_share(count, n, error / 2)
  local high = count == n and 1.0 or find_share(count + 1, n, 1 - error / 2)
  return low, high
end

-- Returns p of Fisher's exact test of two shares, a of n_a and b of n_b.
function M.test_fisher(a, n_a, b, n_b)
  local successes, log_splits = a + b, compute_log_choices(n_a + n_b, a + b)
  local function probability(i)
    return math.exp(compute_log_choices(n_a, i) + compute_log_choices(n_b, successes - i) - log_splits)
  end
  local observed_probability, sum = probability(a) * SLACK, 0.0
  for i = math.max(0, successes - n_b), math.min(n_a, successes) do
    local p = probability(i)
    sum = sum + (p <= observed_probability and p or 0)
  end
  return math.min(1.0, sum)
end

-- Returns the least possible p of a permutation test or Fisher's test with these numbers of seeds: the share of a
-- single split, which for groups of equal size counts twice because of its mirror image.
function M.compute_min_p(n_a, n_b)
  return (n_a == n_b and 2 or 1) / count_choices(n_a + n_b, n_a)
end

-- Calls visit(sum) with the sum of every choice of `count` of the values.
local function visit_choices(values, count, visit)
  local function choose_next(first, remaining_count, sum)
    if remaining_count == 0 then
      visit(sum)
      return
    end
    for i = first, #values - remaining_count + 1 do
      choose_next(i + 1, remaining_count - 1, sum + values[i])
    end
  end
  choose_next(1, count, 0.0)
end

-- Returns the sum of `count` values sampled without replacement; changes the order of the list.
local function sum_sample(values, count, random)
  local sum = 0.0
  for i = 1, count do
    local j = i + random(#values - i + 1) - 1
    values[i], values[j] = values[j], values[i]
    sum = sum + values[i]
  end
  return sum
end

-- Returns three results of the permutation test of two means: p, the number of splits, and the least possible p. A
-- split divides all scores into two groups of these sizes. p is the share of splits in which the two means differ at
-- least as much as the means of a and b. If there are more than MAX_ENUMERATED_SPLITS splits, only the observed split
-- and `samples` random splits count. random(n) returns a random integer from 1 to n.
function M.test_permutation(a, b, samples, random)
  local values, total, max_size = lists.join(a, b), 0.0, 0.0
  for _, value in ipairs(values) do
    total, max_size = total + value, math.max(max_size, math.abs(value))
  end
  local observed_difference = math.abs(statistics.mean(a) - statistics.mean(b)) - ROUNDING * max_size
  local splits, extreme_count, min_p = 0, 0, M.compute_min_p(#a, #b)
  local function count_split(sum)
    local distance = math.abs(sum / #a - (total - sum) / #b)
    splits, extreme_count = splits + 1, extreme_count + (distance >= observed_difference and 1 or 0)
  end
  if count_choices(#values, #a) <= MAX_ENUMERATED_SPLITS then
    visit_choices(values, #a, count_split)
    return extreme_count / splits, splits, min_p
  end
  for _ = 1, samples do
    count_split(sum_sample(values, #a, random))
  end
  return (extreme_count + 1) / (splits + 1), splits, math.max(min_p, 1 / (splits + 1))
end

return M
