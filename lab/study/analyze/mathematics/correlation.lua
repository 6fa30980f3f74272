-- Correlation and cosine of two lists of numbers.
--
-- Input: two lists of the same length. Output: a number. The cosine is nil if a list has only zeros; Pearson's and
-- Spearman's correlations are nil if the lists have fewer than two numbers, or a list does not vary.

local lists = require("base.lists")
local statistics = require("lab.study.read.statistics")

local M = {}

local MIN_VARIATION_SHARE = 1e-12 -- variation below this share of the largest number is rounding

function M.dot(a, b)
  local sum = 0.0
  for i = 1, #a do
    sum = sum + a[i] * b[i]
  end
  return sum
end

function M.norm(a)
  return math.sqrt(M.dot(a, a))
end

function M.cosine(a, b)
  local norms = M.norm(a) * M.norm(b)
  return norms > 0 and M.dot(a, b) / norms or nil
end

-- Returns the list minus its mean; nil if the list does not vary.
local function centre(values)
  local mean, out, max_size = statistics.mean(values), {}, 0.0
  for i, value in ipairs(values) do
    out[i] = value - mean
    max_size = math.max(max_size, math.abs(value))
  end
  return #values > 1 and M.norm(out) > MIN_VARIATION_SHARE * max_size * math.sqrt(#values) and out or nil
end

function M.pearson(a, b)
  local x, y = centre(a), centre(b)
  return x and y and M.cosine(x, y) or nil
end

-- Returns the indices of a list's numbers in ascending order of the numbers; equal numbers by index.
function M.sort_indices(values)
  local order = lists.map(values, function(_, i) return i end)
  table.sort(order, function(i, j) return values[i] < values[j] or values[i] == values[j] and i < j end)
  return order
end

-- Returns ranks from 1 on; equal numbers share the mean of their ranks.
function M.compute_ranks(values)
  local order, ranks = M.sort_indices(values), {}
  local first = 1
  while first <= #order do
    local last = first
    while last < #order and values[order[last + 1]] == values[order[first]] do
      last = last + 1
    end
    for rank = first, last do
      ranks[order[rank]] = (first + last) / 2
    end
    first = last + 1
  end
  return ranks
end

function M.spearman(a, b)
  return M.pearson(M.compute_ranks(a), M.compute_ranks(b))
end

-- Returns { points (the number of pairs), pearson, spearman }.
function M.correlate(x, y)
  return { points = #x, pearson = M.pearson(x, y), spearman = M.spearman(x, y) }
end

-- A sample is { x, y }, two lists of numbers. Returns two results of M.correlate:
--   over the numbers of all samples together
--   over the means of each sample's x and y
function M.correlate_samples(samples)
  local function correlate(join, reduce)
    return M.correlate(join(samples, function(sample) return reduce(sample.x) end), join(samples,
      function(sample) return reduce(sample.y) end))
  end
  return correlate(lists.collect, function(list) return list end), correlate(lists.map, statistics.mean)
end

return M
