-- Writes a figure as a gnuplot script that draws an SVG and a PNG.
--
-- Input: figure = { name, title, panels, legend }; panel = { title, xlabel, ylabel, x, y, percent, curves, levels,
-- marks, shade, labels }. x and y are axes as in scales.lua. curves = { { points = { { x, y }, ... }, style, faint,
-- title, line, band } }: style as in colours.lua, line the name of the line that the curve belongs to, band = { { x,
-- low, high }, ... } around the curve. levels = { { y, text, shift } }: horizontal lines with a name on the right,
-- which is shift lines of text higher than the line. marks = { { x } }: dashed vertical lines. shade = { from, to }: a
-- range of x. labels = { { x, y, text, align } }. legend = { { title, style } }: drawn in a separate place after
-- several panels. Output: the script's text; draw.lua runs it.

local lists = require("base.lists")
local scales = require("lab.study.report.figures.scales")
local escape = require("base.escape")

local M = {}

local quote = escape.gnuplot

M.POINTS = 100 -- the most points of a curve; curves with more points are averaged in groups of neighbours

local WIDTH, HEIGHT = 430, 320 -- size of one of several panels, in pixels of the SVG

local FRAME = [[
set border 3 lw 1 lc rgb "#444444"
set tics nomirror out scale 0.6 textcolor rgb "#222222"
set grid y lt 1 lw 0.6 lc rgb "#a0a0a0a0"
]]

local function number(value)
  return ("%.6g"):format(value)
end

-- Averages neighbours until a curve or a band has at most M.POINTS points; also returns the points per average.
function M.thin(points)
  local group = math.ceil(#points / M.POINTS)
  if group <= 1 then
    return points, 1
  end
  local thin = {}
  for first = 1, #points, group do
    local some = table.move(points, first, math.min(first + group - 1, #points), 1, {})
    thin[#thin + 1] = lists.map(points[first], function(_, part)
      return lists.sum(some, function(point) return point[part] end) / #some
    end)
  end
  return thin, group
end

local function add_block(lines, name, points)
  lines[#lines + 1] = name .. " << EOD"
  for _, point in ipairs((M.thin(points))) do
    lines[#lines + 1] = table.concat(lists.map(point, number), " ")
  end
  lines[#lines + 1] = "EOD"
end

-- The points of all curves and bands as gnuplot data blocks, whose names are numbered across all panels.
local function data(figure)
  local lines, count = {}, 0
  for _, curve in lists.nested(figure.panels, "curves") do
    count = count + 1
    curve.block = ("$curve%d"):format(count)
    add_block(lines, curve.block, curve.points)
    if curve.band then
      add_block(lines, ("$band%d"):format(count), curve.band)
    end
  end
  return table.concat(lines, "\n")
end

-- A colour in gnuplot's notation, with the transparency before red, green and blue.
local function with(style, faint)
  local colour = faint and "#a8" .. style.colour:sub(2) or style.colour
  return ("with %s lw %s dt %s%s lc rgb '%s'"):format(faint and "lines" or "linespoints", faint and "1" or "2.2",
    style.dash, faint and "" or (" pt %d ps 0.8 pn 8"):format(style.point), colour)
end

-- Sets the scale of the y axis. Every panel sets it, since gnuplot retains the scale of the panel before.
local function y_scale(axis)
  if axis.zoom then
    local beyond = number(100 + scales.REST)
    return ("unset logscale y\nset nonlinear y via -log10(%s - y) inverse %s - 10**(-y)\nset ytics nomirror (%s)")
      :format(beyond, beyond, table.concat(scales.tics(axis), ", "))
  end
  return "unset nonlinear y\n" .. (axis.log and ("set logscale y %d"):format(axis.log) or "unset logscale y")
end

local function ranges(panel)
  local x = panel.x
  local tics = x.ticks and ("(%s)"):format(table.concat(x.ticks, ", ")) or x.log and "autofreq"
    or number(scales.step(x[2] - x[1]))
  local lines = { y_scale(panel.y),
    ("set xrange [%s:%s]"):format(number(x[1]), number(x[2])),
    ("set yrange [%s:%s]"):format(number(panel.y[1]), number(panel.y[2])),
    x.log and ("set logscale x %d"):format(x.log) or "unset logscale x", "set xtics nomirror " .. tics,
    panel.percent and "set format y '%g%%'" or "set format y '%g'" }
  lines[#lines + 1] = not panel.y.zoom and "set ytics nomirror " .. (panel.percent and "20" or "autofreq") or nil
  return table.concat(lines, "\n")
end

-- Gnuplot commands for the marks behind the curves and for the names of the levels.
local function marks(panel)
  local lines = { "unset object\nunset arrow\nunset label" }
  if panel.shade then
    lines[#lines + 1] = ("set object 1 rectangle from %s,graph 0 to %s,graph 1 fc rgb '#e8999977' fs solid noborder "
      .. "behind"):format(number(panel.shade[1]), number(panel.shade[2]))
  end
  lists.append(lines, lists.map(panel.marks or {}, function(mark, i)
    return ("set arrow %d from %s,graph 0 to %s,graph 1 nohead dt (8,5) lw 1.4 lc rgb '#888888'"):format(i,
      number(mark[1]), number(mark[1]))
  end))
  lists.append(lines, lists.map(panel.levels or {}, function(level)
    return ("set label %s at graph 1.01, first %s left offset 0,%s tc rgb '#777777'"):format(quote(level[2]),
      number(level[1]), number(level[3] or 0))
  end))
  return table.concat(lists.append(lines, lists.map(panel.labels or {}, function(label)
    return ("set label %s at %s,%s %s tc rgb '#777777'"):format(quote(label[3]), number(label[1]), number(label[2]),
      label[4])
  end)), "\n")
end

local function plot(panel)
  local parts = lists.map(panel.levels or {}, function(level, i)
    return ("%s notitle with lines dt %s lw 1.2 lc rgb '#888888'"):format(number(level[1]),
      i == 1 and "(2,3)" or "(8,3)")
  end)
  lists.append(parts, lists.map(panel.curves, function(curve)
    return curve.band and ("%s using 1:2:3 notitle with filledcurves fs solid noborder fc rgb '#d8%s'"):format(
      curve.block:gsub("curve", "band"), curve.style.colour:sub(2)) or nil
  end))
  for _, faint in ipairs({ true, false }) do
    for _, curve in ipairs(panel.curves) do
      if (curve.faint or false) == faint then
        parts[#parts + 1] = ("%s using 1:2 %s %s"):format(curve.block,
          curve.title and "title " .. quote(curve.title) or "notitle", with(curve.style, faint))
      end
    end
  end
  return #parts > 0 and "plot " .. table.concat(parts, ", \\\n     ") or "plot NaN notitle"
end

local function panel_text(panel)
  return table.concat({
    "set title " .. quote(panel.title or "") .. " textcolor rgb '#222222'",
    "set xlabel " .. quote(panel.xlabel) .. " offset 0,0.3 textcolor rgb '#222222'",
    "set ylabel " .. quote(scales.label(panel.ylabel, panel.y)) .. " offset -0.6,0 textcolor rgb '#222222'",
    ranges(panel), marks(panel), plot(panel),
  }, "\n")
end

-- The legend, which lists the names of the curves in a separate place.
local function legend_text(legend)
  local parts = lists.map(legend, function(entry)
    return ("2 title %s %s"):format(quote(entry.title), with(entry.style))
  end)
  return table.concat({
    "unset border\nunset tics\nunset grid\nunset title\nunset xlabel\nunset ylabel",
    "unset object\nunset arrow\nunset label\nunset logscale x\nunset nonlinear y\nunset logscale y",
    "set xrange [0:1]\nset yrange [0:1]",
    "set key center center vertical Left reverse samplen 3 maxrows 8 textcolor rgb '#222222'",
    "plot " .. table.concat(parts, ", \\\n     "),
  }, "\n")
end

-- Whether any panel has levels, whose names need space on the right.
function M.has_levels(figure)
  return lists.find(figure.panels, function(panel) return panel.levels and #panel.levels > 0 end) ~= nil
end

-- The commands that draw a figure, and its size in pixels.
local function drawing(figure)
  local frame = FRAME .. ("set lmargin 10\nset rmargin %d\n"):format(M.has_levels(figure) and 17 or 3)
  if #figure.panels == 1 then
    return frame .. "set key outside above left horizontal Left reverse samplen 2.2 width 2 textcolor rgb '#222222'\n"
      .. panel_text(figure.panels[1]), 800, 480
  end
  local places = #figure.panels + 1
  local across = places <= 4 and 2 or places <= 9 and 3 or 4
  local down = math.ceil(places / across)
  local parts = lists.join({ frame .. "set key off", ("set multiplot layout %d,%d"):format(down, across) },
    lists.map(figure.panels, panel_text))
  parts[#parts + 1] = legend_text(figure.legend)
  parts[#parts + 1] = "unset multiplot\nset border 3"
  return table.concat(parts, "\n"), across * WIDTH, down * HEIGHT
end

-- The script; gnuplot writes <name>.svg and <name>.png into its working folder.
function M.script(figure)
  local blocks = data(figure)
  local picture, width, height = drawing(figure)
  local size = #figure.panels == 1 and 15 or 12
  local function drawn(terminal, ending)
    return ("set terminal %s\nset output '%s.%s'\n%s\nunset output\n"):format(terminal, figure.name, ending, picture)
  end
  return "set encoding utf8\n" .. blocks .. "\n" .. drawn(("svg noenhanced size %d,%d dynamic font 'Helvetica,%d' "
    .. "background rgb 'white'"):format(width, height, size), "svg") .. drawn(("pngcairo noenhanced size %d,%d font "
    .. "'Sans,%d' linewidth 2 pointscale 1.6"):format(2 * width, 2 * height, size * 1.6 // 1), "png")
end

return M
