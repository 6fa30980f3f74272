-- Curves of the seeds of a cell in a panel: a bold curve of means, a faint curve for each seed, a band of quartiles.
--
-- Input: lists of points { x, value } by seed. Output: lists of points by ascending x, or curves for curves.lua.

local lists = require("base.lists")
local statistics = require("lab.study.read.statistics")

local M = {}

local MIN_SEEDS = 3 -- seeds that a band of quartiles needs

function M.sort(points)
  table.sort(points, function(a, b) return a[1] < b[1] end)
  return points
end

-- Returns a point { x, statistic ... } for each x. Further arguments: functions that compute a statistic of all values
-- at an x.
local function apply_at_each(lists_of_points, ...)
  local functions = { ... }
  local points = lists.collect(lists_of_points, function(list) return list end)
  return M.sort(lists.map(lists.group(points, function(point) return point[1] end), function(group)
    local values = lists.map(group, function(point) return point[2] end)
    return { group.key, table.unpack(lists.map(functions, function(compute) return compute(values) end)) }
  end))
end

function M.average(lists_of_points)
  return apply_at_each(lists_of_points, statistics.mean)
end

-- Returns the points { x, lower quartile, upper quartile }; nil for too few seeds.
function M.find_quartiles(lists_of_points)
  local band = #lists_of_points >= MIN_SEEDS and apply_at_each(lists_of_points,
    function(values) return statistics.quantile(values, 0.25) end,
    function(values) return statistics.quantile(values, 0.75) end) or {}
  return #band > 0 and band or nil
end

-- Adds a bold curve, and the faint curves of its seeds if there are several. bold: { mean, band, cell }: the points of
-- the bold curve, its band or nil, and the index of its cell or nil.
function M.add_curves(panel, lists_of_points, style, title, bold)
  for _, points in ipairs(#lists_of_points > 1 and lists_of_points or {}) do
    panel.curves[#panel.curves + 1] = { points = points, style = style, faint = true, line = title }
  end
  if #bold.mean > 0 then
    panel.curves[#panel.curves + 1] = { points = bold.mean, style = style, line = title,
      band = bold.band, cell = bold.cell }
  end
end

return M
