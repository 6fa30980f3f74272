-- A panel (panels.lua) of points in groups. Each group has a colour of the palette.
--
-- Input: groups, a list of { x, y } with lists of numbers; a title; options, nil or a table:
--   style   a style of gnuplot; nil: points
--   x, y    { from, to, step } of the axis; nil: the axis fits the numbers

local lists = require("base.lists")
local scales = require("lab.study.report.figures.scales")

local M = {}

-- Settings of a picture that has only such panels.
M.SETTINGS = { "set border 3 lw 1 lc rgb '#444444'", "set tics in" }

local function format_axis(letter, groups, range)
  return range and ("set %srange [%g:%g]\nset %stics %g"):format(letter, range[1], range[2], letter, range[3])
    or scales.fit_axis(letter, lists.map(groups, function(group) return group[letter] end))
end

function M.draw(groups, title, options)
  local points = {}
  for i, group in ipairs(groups) do
    for k, x in ipairs(group.x) do
      points[#points + 1] = ("%.7g %.7g %d"):format(x, group.y[k], i)
    end
  end
  options = options or {}
  return { title = title, lines = {
    format_axis("x", groups, options.x), format_axis("y", groups, options.y),
    ("set cbrange [1:%d]"):format(math.max(2, #groups)), "set grid lt 1 lw 0.6 lc rgb '#d0d0d0'",
  }, layers = { { points, ("using 1:2:3 with %s pt 7 ps 0.5 lc palette"):format(options.style or "points") } } }
end

return M
