-- A picture of groups of numbers: each number is a point; a bar below the points shows their mean and its interval.
--
-- Input: { name, title, xlabel, sets }: set = { name, groups }; group = { name, scores, mean, low, high }, where too
-- few scores have no mean, low and high. Output: a gnuplot script, which is not run here.

local colours = require("lab.study.report.figures.colours")
local gnuplot = require("lab.study.report.figures.gnuplot")
local heat = require("lab.study.analyze.pictures.heat")
local lists = require("base.lists")
local scales = require("lab.study.report.figures.scales")

local M = {}

local WIDTH, ROW, FRAME = 760, 24, 104 -- pixels: width; height of a group; height around the groups of a set
local HEAD = 40                        -- pixels above all sets
-- Vertical offsets of the first point, the last point and the bar in a group's row, whose middle is at 0 and whose
-- lower end is at 0.5.
local FIRST, LAST, BAR = -0.35, 0.1, 0.28

local SETTINGS = {
  "unset key", "set border 1 lc rgb '#444444'",
  "set tics nomirror scale 0.4 textcolor rgb '#222222'",
  "set grid x lt 1 lw 0.6 lc rgb '#d0d0d0'",
}

-- The lines of a block of data, "x y colour" of every number.
local function points_of(set, styles)
  local lines = {}
  for y, group in ipairs(set.groups) do
    local count, colour = #group.scores, tonumber(styles[group.name].colour:sub(2), 16)
    for i, score in ipairs(group.scores) do
      lines[#lines + 1] = ("%.9g %.4f %d"):format(score, y + FIRST + (LAST - FIRST) * (i - 0.5) / count, colour)
    end
  end
  return lines
end

-- The lines of a block of data, "mean low high y" of every group with an interval.
local function means_of(set)
  return lists.map(set.groups, function(group, y)
    return group.low and ("%.9g %.9g %.9g %.2f"):format(group.mean, group.low, group.high, y + BAR) or nil
  end)
end

-- Layers of a set's panel: a block of data and its part of the plot command. Layers without points are left out, since
-- gnuplot reports an error on an empty block.
local function layers_of(number, set, styles)
  return lists.map({
    { "seeds", points_of(set, styles), "using 1:2:3 with points pt 7 ps 0.6 lc rgb variable" },
    { "means", means_of(set), "using 1:4:2:3 with xerrorbars pt 7 ps 0.7 lw 1.4 lc rgb '#222222'" },
  }, function(layer)
    local name = layer[1] .. number
    return #layer[2] > 0 and { data = gnuplot.block(name, layer[2]), plot = ("$%s %s"):format(name, layer[3]) } or nil
  end)
end

local function panel(set, layers, drawing)
  drawing[#drawing + 1] = ("set title %s"):format(gnuplot.quote(set.name))
  drawing[#drawing + 1] = ("set yrange [%g:0.5]\nset ytics (%s)"):format(#set.groups + 0.5,
    heat.tics(lists.names(set.groups), 1))
  local plots = lists.map(layers, function(layer) return layer.plot end)
  drawing[#drawing + 1] = "plot " .. (#plots > 0 and table.concat(plots, ", ") or "NaN")
end

function M.script(picture)
  local groups, most, data = {}, 0, {}
  for _, set in ipairs(picture.sets) do
    most = math.max(most, #set.groups)
    lists.append(groups, set.groups)
  end
  local styles = colours.all(lists.distinct(lists.names(groups)))
  local layers = lists.map(picture.sets, function(set, i) return layers_of(i, set, styles) end)
  for _, of_set in ipairs(layers) do
    lists.append(data, lists.map(of_set, function(layer) return layer.data end))
  end
  local drawing = lists.join(SETTINGS, {
    scales.fitting("x", lists.map(groups, function(group) return group.scores end)),
    ("set xlabel %s font ',10'"):format(gnuplot.quote(picture.xlabel)),
    ("set multiplot layout %d,1 title %s"):format(#picture.sets, gnuplot.quote(picture.title)) })
  for i, set in ipairs(picture.sets) do
    panel(set, layers[i], drawing)
  end
  drawing[#drawing + 1] = "unset multiplot"
  return gnuplot.script({ name = picture.name, data = data, width = WIDTH,
    height = HEAD + #picture.sets * (FRAME + ROW * most) }, drawing)
end

return M
