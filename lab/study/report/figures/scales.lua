-- The scales of a panel's axes: the choice between linear and other scales, labels, steps between ticks.
--
-- Input: a panel of curves.lua, whose axes x and y are { from, to, log, ticks, zoom }:
--   log     the base of a logarithmic axis, or nil
--   ticks   a list of numbers; nil: automatic ticks
--   zoom    true if an axis in percent shows the logarithm of the distance to 100 + M.ZOOM_OFFSET

local lists = require("base.lists")

local M = {}

M.ZOOM_OFFSET = 0.1 -- gives 100% a finite position

local CROWDED_FROM = 95 -- percent: values from this number on are close to 100
local MIN_DIFFERENCE = 0.1 -- percent: a zoomed axis is used if values close to 100 differ by more than this
local MARGIN = 0.05 -- margin on either side of an axis that fits numbers, as a share of its range
local MIN_LOG_RATIO = 20 -- an axis is logarithmic if largest / smallest value exceeds this

-- Returns the distance between ticks, 1, 2 or 5 times a power of ten. A range of width `span` gets about five ticks.
function M.choose_step(span)
  local rough = math.max(span, 1e-9) / 5
  local power = 10 ^ math.floor(math.log(rough, 10))
  return power * (rough < 2 * power and 2 or rough < 5 * power and 5 or 10)
end

function M.make_label(text, axis)
  return text .. (axis.zoom and ", zoomed towards 100%" or axis.log and ", logarithmic" or "")
end

-- Whether most points of the bold curves are close to 100, and these points differ by more than MIN_DIFFERENCE.
local function is_crowded(curves)
  local near_count, far_count, low, high = 0, 0, 100, 0
  for _, curve in ipairs(curves) do
    for _, point in ipairs(curve.faint and {} or curve.points) do
      if point[2] >= CROWDED_FROM then
        near_count, low, high = near_count + 1, math.min(low, point[2]), math.max(high, point[2])
      else
        far_count = far_count + 1
      end
    end
  end
  return near_count > far_count and high - low > MIN_DIFFERENCE
end

-- Returns the smallest and the largest number of all lists; without numbers, math.huge and -math.huge.
-- get_number: returns the number of an item; nil: items are numbers.
function M.find_range(lists_of_numbers, get_number)
  local low, high = math.huge, -math.huge
  for _, list in ipairs(lists_of_numbers) do
    for _, item in ipairs(list) do
      local value = get_number and get_number(item) or item
      low, high = math.min(low, value), math.max(high, value)
    end
  end
  return low, high
end

-- Returns the gnuplot lines that set the range and the ticks of an axis for these numbers. letter: "x" or "y".
function M.fit_axis(letter, lists_of_numbers)
  local low, high = M.find_range(lists_of_numbers)
  if low > high then
    low, high = 0, 1
  end
  local pad = high > low and MARGIN * (high - low) or math.max(0.01, MARGIN * math.abs(high))
  return ("set %srange [%.7g:%.7g]\nset %stics %.6g"):format(letter, low - pad, high + pad, letter,
    M.choose_step(high - low + 2 * pad))
end

-- Sets the y axis of a panel to fit its curves. A linear axis includes 0 unless all numbers are close to each other.
function M.fit_panel(panel)
  if panel.percent then
    panel.y = is_crowded(panel.curves) and { 0, 100, zoom = true } or { 0, 100 }
    return
  end
  local low, high = M.find_range(lists.map(panel.curves, function(curve) return curve.points end), function(point)
    return point[2]
  end)
  if low > 0 and high > MIN_LOG_RATIO * low then
    panel.y = { low / 1.2, high * 1.2, log = 10 }
  elseif low > high / 2 then
    local margin = math.max(0.1 * (high - low), 0.01 * high)
    panel.y = { low - margin, high + margin }
  else
    panel.y = { math.min(0, low), high > 0 and 1.05 * high or 1 }
  end
end

return M
