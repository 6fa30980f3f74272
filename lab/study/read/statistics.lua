-- Statistics of a list of numbers.
--
-- Input: a list of numbers. Output: a number, or nil if the list is too short. sd: standard deviation, divisor n - 1.

local lists = require("base.lists")

local M = {}

function M.mean(values)
  local sum = 0
  for _, value in ipairs(values) do -- a plain loop without function calls, since resampling computes many means
    sum = sum + value
  end
  return #values > 0 and sum / #values or nil
end

function M.sd(values)
  local mean = M.mean(values)
  local sum = lists.sum(values, function(value) return (value - mean) ^ 2 end)
  return #values > 1 and math.sqrt(sum / (#values - 1)) or nil
end

function M.max(values)
  return #values > 0 and math.max(table.unpack(values)) or nil
end

-- The value below which a share of the list lies, interpolated linearly between neighbours (R's type 7).
function M.quantile(values, share)
  local sorted_values = table.move(values, 1, #values, 1, {})
  table.sort(sorted_values)
  if #sorted_values == 0 then
    return nil
  end
  local position = 1 + share * (#sorted_values - 1)
  local lower_index = math.floor(position)
  local value, next_value = sorted_values[lower_index], sorted_values[lower_index + 1]
  return position == lower_index and value or value + (position - lower_index) * (next_value - value)
end

function M.share_above(values, threshold)
  return #values > 0 and lists.count(values, function(value) return value > threshold end) / #values or nil
end

local Z = 1.959963984540054 -- the 97.5% quantile of the normal distribution

-- The 95% interval (Wilson 1927) of a share of `count` trials, low and high, as runtime/eval/by_sequence.h computes it.
function M.compute_wilson(share, count)
  local square = Z * Z / count
  local middle, half = share + square / 2, Z * math.sqrt((share * (1 - share) + square / 4) / count)
  return math.max(0, (middle - half) / (1 + square)), math.min(1, (middle + half) / (1 + square))
end

return M
