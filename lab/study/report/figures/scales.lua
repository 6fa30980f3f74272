-- The scales of a panel's axes: positions of numbers, ticks, and the choice between linear and other scales.
--
-- Input: a panel of curves.lua; its axes x and y are { from, to, log, ticks, step, zoom }. Output: positions from 0 to
-- 1, ticks, texts. log is the base of a logarithmic axis, ticks a list of ticks, step the distance between two ticks. A
-- zoomed axis is in percent and shows the logarithm of the distance to 100 + REST.

local lists = require("base.lists")

local M = {}

M.REST = 0.1 -- gives 100% a finite position

local NEAR, APART = 95, 0.1 -- percent: the limit of "close to 100", and the least difference between curves there
local WIDE = 20 -- values with a larger ratio get a logarithmic axis
local ZOOMED = { 0, 50, 80, 90, 95, 98, 99, 99.5, 100 }

local function transformed(axis, value)
  if axis.zoom then
    return -math.log(100 + M.REST - math.min(value, 100))
  end
  return axis.log and math.log(value) or value
end

-- The position of a value: 0 at the start of the axis, 1 at its end.
function M.place(axis, value)
  local from, to = transformed(axis, axis[1]), transformed(axis, axis[2])
  local place = to > from and (transformed(axis, value) - from) / (to - from) or 0.5
  return math.max(0, math.min(1, place))
end

-- A step of 1, 2 or 5 times a power of ten that gives a range of numbers about five ticks.
function M.step(span)
  local rough = math.max(span, 1e-9) / 5
  local power = 10 ^ math.floor(math.log(rough, 10))
  return power * (rough < 2 * power and 2 or rough < 5 * power and 5 or 10)
end

-- Ticks at powers of ten; if there are fewer than three powers, also at twice and five times each power.
local function decades(axis)
  local all, tens = {}, {}
  for power = math.floor(math.log(axis[1], 10)), math.ceil(math.log(axis[2], 10)) do
    for _, factor in ipairs({ 1, 2, 5 }) do
      local value = factor * 10.0 ^ power
      if value >= axis[1] * (1 - 1e-9) and value <= axis[2] * (1 + 1e-9) then
        all[#all + 1] = value
        tens[#tens + 1] = factor == 1 and value or nil
      end
    end
  end
  return #tens >= 3 and tens or all
end

-- The numbers along an axis, in ascending order.
function M.tics(axis)
  local list = {}
  if axis.ticks then
    list = table.move(axis.ticks, 1, #axis.ticks, 1, {})
    table.sort(list)
  elseif axis.zoom then
    list = ZOOMED
  elseif axis.log then
    list = decades(axis)
  else
    local step = axis.step or M.step(axis[2] - axis[1])
    for i = math.ceil(axis[1] / step - 1e-9), math.floor(axis[2] / step + 1e-9) do
      list[#list + 1] = i * step
    end
  end
  return list
end

-- An axis' label, which names a scale that is not linear.
function M.label(text, axis)
  return text .. (axis.zoom and ", zoomed towards 100%" or axis.log and ", logarithmic" or "")
end

-- Whether most points of the bold curves are close to 100, but not all are equal.
local function crowds(curves)
  local near, far, low, high = 0, 0, 100, 0
  for _, curve in ipairs(curves) do
    for _, point in ipairs(curve.faint and {} or curve.points) do
      if point[2] >= NEAR then
        near, low, high = near + 1, math.min(low, point[2]), math.max(high, point[2])
      else
        far = far + 1
      end
    end
  end
  return near > far and high - low > APART
end

-- The least and the largest number in several lists; of: returns an item's number, without it items are numbers.
-- math.huge and -math.huge if all lists are empty.
function M.range(several, of)
  local low, high = math.huge, -math.huge
  for _, list in ipairs(several) do
    for _, item in ipairs(list) do
      local value = of and of(item) or item
      low, high = math.min(low, value), math.max(high, value)
    end
  end
  return low, high
end

-- The y axis that shows most of a panel's curves. Percentages are zoomed if many are near 100. Other numbers have a
-- logarithmic axis if they differ much; else the axis begins just below the smallest number if the range is smaller
-- than this number; else it begins at 0.
function M.fit(panel)
  if panel.percent then
    panel.y = crowds(panel.curves) and { 0, 100, zoom = true } or { 0, 100, step = 20 }
    return
  end
  local low, high = M.range(lists.map(panel.curves, function(curve) return curve.points end), function(point)
    return point[2]
  end)
  if low > 0 and high > WIDE * low then
    panel.y = { low / 1.2, high * 1.2, log = 10 }
  elseif low > high / 2 then
    local margin = math.max(0.1 * (high - low), 0.01 * high)
    panel.y = { low - margin, high + margin }
  else
    panel.y = { math.min(0, low), high > 0 and 1.05 * high or 1 }
  end
end

return M
