-- A picture of groups of numbers: each number is a point; a bar below the points shows their mean and its interval.
--
-- Input: the picture's title and note; a list of sets { name, groups }. A group is { name, scores, mean, low, high };
-- without low and high, no bar is drawn. Output: a picture with a panel for each set (panels.lua).

local colours = require("lab.study.report.figures.colours")
local heat = require("lab.study.report.figures.heat")
local lists = require("base.lists")
local scales = require("lab.study.report.figures.scales")

local WIDTH, ROW, LETTER = 640, 32, 7 -- pixels: width of a panel; height of a group; a letter of its name
-- Vertical offsets of the first point, the last point and the bar in a group's row, which extends from -0.5 to 0.5.
local FIRST, LAST, BAR = -0.35, 0.1, 0.28

local SETTINGS = { "set border 1 lw 1 lc rgb '#444444'", "set tics in font ',10' textcolor rgb '#222222'",
  "set grid x lt 1 lw 0.6 lc rgb '#d0d0d0'" }

local function format_points(set, styles)
  local lines = {}
  for y, group in ipairs(set.groups) do
    local count, colour = #group.scores, tonumber(styles[group.name].colour:sub(2), 16)
    for i, score in ipairs(group.scores) do
      lines[#lines + 1] = ("%.9g %.4f %d"):format(score, y + FIRST + (LAST - FIRST) * (i - 0.5) / count, colour)
    end
  end
  return lines
end

local function format_means(set)
  return lists.map(set.groups, function(group, y)
    return group.low and ("%.9g %.9g %.9g %.2f"):format(group.mean, group.low, group.high, y + BAR) or nil
  end)
end

return function(title, note, sets)
  local groups = lists.collect(sets, function(set) return set.groups end)
  local names = lists.get_names(groups)
  local styles = colours.choose_styles(lists.drop_repeats(names))
  local range = scales.fit_axis("x", lists.map(groups, function(group) return group.scores end))
  return { title = title, note = note, settings = SETTINGS, panel_width = WIDTH,
    left = heat.measure_names(names, LETTER),
    panel_height = ROW * lists.max(sets, function(set) return #set.groups end), rows = lists.map(sets, function(set)
      return { label = "", { title = set.name, lines = { range, ("set yrange [%g:0.5]\nset ytics (%s)"):format(
        #set.groups + 0.5, heat.format_tics(lists.get_names(set.groups), 1)) }, layers = {
          { format_points(set, styles), "using 1:2:3 with points pt 7 ps 0.6 lc rgb variable" },
          { format_means(set), "using 1:4:2:3 with xerrorbars pt 7 ps 0.7 lw 1.4 lc rgb '#222222'" },
        } } }
    end) }
end
