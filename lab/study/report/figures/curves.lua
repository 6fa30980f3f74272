-- Figures of curves as gnuplot scripts: one script draws a figure's files, another the pictures of the HTML page.
--
-- Input: figure = { name (of files), title, panels, legend, width }. legend = { { title, style }, ... }, the order of
-- lines, or nil; width: the width of the files in millimetres; nil: the width of an article's text.
-- Output: the script's text, which draw.lua runs. Fields of a panel:
--   title, xlabel, ylabel: texts
--   percent: whether y is in percent
--   x, y: axes (scales.lua)
--   curves = { { points = { { x, y }, ... }, style, faint, line, band }, ... }: style: from colours.lua; faint: whether
--     the curve is thin and pale; line: the name of the line to which the curve belongs; band: an area around the
--     curve, { { x, low, high }, ... }, or nil. figure.lua reads further fields
--   levels = { { y, text, shift }, ... }: horizontal lines, each with a text, which is moved up by `shift` times the
--     height of the text
--   marks = { { x }, ... }: dashed vertical lines; shade = { from, to }: a range of x
--   labels = { { x, y, text, align }, ... }: texts in the panel; align: gnuplot's word, such as "center"
--   strip: a low panel below this panel, or nil. It has the same x axis, without numbers. Its legend = { { title,
--     style }, ... } is in the figure's legend, too; its styles have no `point`

local escape = require("base.escape")
local gnuplot = require("lab.study.report.figures.gnuplot")
local lists = require("base.lists")
local scales = require("lab.study.report.figures.scales")

local M = {}

local quote, format_number = gnuplot.quote, gnuplot.format_number

M.POINTS = 100 -- maximum number of points of a curve; beyond it, neighbours are averaged

-- Sizes in pixels of the files:
local MIN_WIDTH, MIN_HEIGHT = 200, 190 -- of a panel
local STRIP = 62 -- height of a strip
local FONT = 11 -- 8 points
-- In the legend: height of a line, width of a letter, width of a sample with the gaps around it.
local LINE, LETTER, SAMPLE = 14, 6.5, 50
local ASPECT = 0.65 -- height of a panel divided by its width
local NAME_OFFSET = 12 -- pixels from the top of a picture of the page to the middle of the y axis' name
local MAX_SYMBOLS = 8 -- on a curve, roughly

local FRAME = [[
set border 3 lw 1 lc rgb '#444444'
set tics nomirror out scale 0.6 textcolor rgb '#222222'
set grid y lt 1 lw 0.6 lc rgb '#a0a0a0a0']]
local ZOOMED = "0, 50, 80, 90, 95, 98, 99, 99.5, 100" -- ticks of a zoomed axis in percent

-- Averages neighbours until a curve or a band has at most M.POINTS points.
function M.thin(points)
  local group_size, averages = math.ceil(#points / M.POINTS), {}
  if group_size <= 1 then
    return points
  end
  for first = 1, #points, group_size do
    local neighbours = table.move(points, first, math.min(first + group_size - 1, #points), 1, {})
    averages[#averages + 1] = lists.map(points[first], function(_, coordinate)
      return lists.sum(neighbours, function(point) return point[coordinate] end) / #neighbours
    end)
  end
  return averages
end

local function make_block(name, points)
  return gnuplot.make_block(name, lists.map(M.thin(points), function(point)
    return table.concat(lists.map(point, format_number), " ")
  end))
end

-- Returns the panels of a figure, each followed by its strip.
local function list_panels(figure)
  return lists.collect(figure.panels, function(panel) return { panel, panel.strip } end)
end

-- Returns the blocks of data of a figure's curves. Sets the field `number` of each curve: its index, from 1, among all
-- curves of the figure.
local function make_blocks(figure)
  local blocks, count = {}, 0
  for _, curve in lists.iterate_nested(list_panels(figure), "curves") do
    count = count + 1
    curve.number = count
    blocks[#blocks + 1] = make_block("curve" .. count, curve.points)
    blocks[#blocks + 1] = curve.band and make_block("band" .. count, curve.band)
  end
  return blocks
end

-- Returns the words `with ...` for a line. symbol_distance: the number of points from one symbol to the next, by
-- default 1. gnuplot expects the transparency of a colour before red, green and blue.
local function format_style(style, faint, symbol_distance)
  local colour, point = faint and "#a8" .. style.colour:sub(2) or style.colour, not faint and style.point
  return ("with %s lw %s dt %s%s lc rgb '%s'"):format(point and "linespoints" or "lines", faint and "1" or "2.2",
    style.dash, point and (" pt %d ps 0.8 pi %d"):format(point, symbol_distance or 1) or "", colour)
end

-- Returns the lines that set the scale of the y axis. Every panel needs them, since gnuplot retains the last scale.
local function format_scale(axis)
  if axis.zoom then
    local limit = format_number(100 + scales.ZOOM_OFFSET)
    return ("unset logscale y\nset nonlinear y via -log10(%s - y) inverse %s - 10**(-y)\nset ytics nomirror (%s)")
      :format(limit, limit, ZOOMED)
  end
  return "unset nonlinear y\n" .. (axis.log and ("set logscale y %d"):format(axis.log) or "unset logscale y")
end

local function format_ranges(panel)
  local x = panel.x
  local tics = x.ticks and ("(%s)"):format(table.concat(x.ticks, ", ")) or x.log and "autofreq"
    or format_number(scales.choose_step(x[2] - x[1]))
  return table.concat({ format_scale(panel.y), ("set xrange [%s:%s]"):format(format_number(x[1]), format_number(x[2])),
    ("set yrange [%s:%s]"):format(format_number(panel.y[1]), format_number(panel.y[2])),
    x.log and ("set logscale x %d"):format(x.log) or "unset logscale x", "set xtics nomirror " .. tics,
    panel.percent and "set format y '%g%%'" or "set format y '%g'",
    not panel.y.zoom and "set ytics nomirror " .. (panel.y.step or panel.percent and 20 or "autofreq") or nil }, "\n")
end

-- Returns the lines that draw a panel's marks, levels and labels. is_on_page: whether the panel is on the HTML page;
-- there the names of levels are next to the panel, and not in it.
local function format_marks(panel, is_on_page)
  local lines = { "unset object\nunset arrow\nunset label" }
  if panel.shade then
    lines[#lines + 1] = ("set object 1 rectangle from %s,graph 0 to %s,graph 1 fc rgb '#e8999977' fs solid noborder "
      .. "behind"):format(format_number(panel.shade[1]), format_number(panel.shade[2]))
  end
  lists.append(lines, lists.map(panel.marks or {}, function(mark, i)
    return ("set arrow %d from %s,graph 0 to %s,graph 1 nohead dt (8,5) lw 1.4 lc rgb '#888888'"):format(i,
      format_number(mark[1]), format_number(mark[1]))
  end))
  lists.append(lines, lists.map(panel.levels or {}, function(level)
    local shift = level[3] or 0
    return ("set label %s at graph %s, first %s left offset 0,%s font ',%d' tc rgb '#777777'"):format(quote(level[2]),
      is_on_page and "1.01" or "0.02", format_number(level[1]),
      format_number((is_on_page or shift ~= 0) and shift or 0.5), is_on_page and 12 or 9)
  end))
  return table.concat(lists.append(lines, lists.map(panel.labels or {}, function(label)
    return ("set label %s at %s,%s %s tc rgb '#777777'"):format(quote(label[3]), format_number(label[1]),
      format_number(label[2]), label[4])
  end)), "\n")
end

-- Returns the parts of gnuplot's plot command for a panel, in the order of drawing: { words, curve (nil for a level) }.
local function list_parts(panel)
  local parts = lists.map(panel.levels or {}, function(level, i)
    return { ("%s notitle with lines dt %s lw 1.2 lc rgb '#888888'"):format(format_number(level[1]),
      i == 1 and "(2,3)" or "(8,3)") }
  end)
  lists.append(parts, lists.map(panel.curves, function(curve)
    return curve.band and { ("$band%d using 1:2:3 notitle with filledcurves fs solid noborder fc rgb '#d8%s'"):format(
      curve.number, curve.style.colour:sub(2)), curve } or nil
  end))
  for _, faint in ipairs({ true, false }) do
    lists.append(parts, lists.map(panel.curves, function(curve)
      return (curve.faint or false) == faint and { ("$curve%d using 1:2 notitle %s"):format(curve.number,
        format_style(curve.style, faint, math.ceil(#M.thin(curve.points) / MAX_SYMBOLS))), curve } or nil
    end))
  end
  return parts
end

local function format_plot(texts)
  return #texts > 0 and "plot " .. table.concat(texts, ", \\\n     ") or "plot NaN notitle"
end

-- Returns the lines that draw a panel. height: on the page, the height of the panel's picture in pixels; nil in files.
-- A panel of the page has no title, and the name of its y axis is at the top left.
local function format_panel(panel, height)
  local ylabel, ink = quote(scales.make_label(panel.ylabel, panel.y)), " textcolor rgb '#222222'"
  local lines = { "set xlabel " .. quote(panel.xlabel) .. " offset 0,0.3" .. ink, format_ranges(panel),
    format_marks(panel, height ~= nil) }
  lists.append(lines, height and { ("set label %s at screen 0.01,%.6f left"):format(ylabel, 1 - NAME_OFFSET / height)
    .. ink }
    or { "set title " .. quote(panel.title or "") .. ink, "set ylabel " .. ylabel .. " offset -0.6,0" .. ink })
  lines[#lines + 1] = format_plot(lists.map(list_parts(panel), function(element) return element[1] end))
  return table.concat(lines, "\n")
end

-- Returns the lines that draw a strip. height: as for format_panel.
local function format_strip(strip, height)
  return ("set format x ''\n%s\nset format x '%% h'"):format(format_panel(lists.merge(strip, {
    xlabel = "" }), height))
end

-- Lines that remove everything but the key and the curves.
local BARE = "unset border\nunset tics\nunset grid\nunset title\nunset xlabel\nunset ylabel\n"
  .. "unset object\nunset arrow\nunset label\nunset logscale x\nunset nonlinear y\nunset logscale y\n"
  .. "set xrange [0:1]\nset yrange [0:1]"

-- Returns the script that draws the legend in a part of the picture, and its height in pixels. lines: the entries of
-- the legend, from M.list_lines.
local function format_legend(lines, width)
  local letters = lists.max(lines, function(line) return utf8.len(escape.plain(line.title)) end)
  local rows = math.ceil(#lines / math.max(1, width // (SAMPLE + LETTER * letters)))
  return ("%s\nset margins 0, 0, 0, 0\nset key center center vertical Left reverse samplen 2.2 maxrows %d "
    .. "textcolor rgb '#222222'\n"):format(BARE, math.max(1, rows)) .. format_plot(lists.map(lines, function(line)
      return ("2 title %s %s"):format(quote(line.title), format_style(line.style))
    end)), LINE * (rows + 1)
end

-- Returns the lines of a figure, { title, style }, first the lines of the legend; and their numbers by title.
function M.list_lines(figure)
  local drawn_lines = lists.map(lists.collect(list_panels(figure), function(panel) return panel.curves end),
    function(curve)
    return { title = curve.line, style = curve.style }
  end)
  local lines_by_title = lists.index_by(drawn_lines, function(line) return line.title end)
  local legend = lists.filter(figure.legend or {}, function(entry) return lines_by_title[entry.title] end)
  local list, numbers = {}, {}
  for i, equal_lines in ipairs(lists.group(lists.join(legend, drawn_lines), function(line) return line.title end)) do
    list[i], numbers[equal_lines.key] = equal_lines[1], i
  end
  return list, numbers
end

-- Returns the lines of gnuplot that draw a figure; and the width and height of the drawing in pixels.
local function format_drawing(figure)
  local total_width = gnuplot.to_pixels(figure.width or gnuplot.TEXT_WIDTH)
  local columns = math.max(1, math.min(#figure.panels, total_width // MIN_WIDTH))
  local panel_height = math.max(MIN_HEIGHT, ASPECT * total_width / columns)
  local strip_height = lists.find(figure.panels, function(panel) return panel.strip end) and STRIP or 0
  local titled_lines = lists.filter((M.list_lines(figure)), function(line) return line.title ~= "" end)
  local legend, legend_height = format_legend(titled_lines, total_width)
  local total_height = legend_height + math.ceil(#figure.panels / columns) * (panel_height + strip_height)
  local lines = { FRAME, "set key off\nset lmargin 9\nset rmargin 3\nset multiplot" }
  local function add(left, top, width, height, text)
    lists.append(lines, { ("set origin %.6f,%.6f\nset size %.6f,%.6f"):format(left / total_width,
      1 - (top + height) / total_height, width / total_width, height / total_height), text })
  end
  for i, panel in ipairs(figure.panels) do
    local left = (i - 1) % columns * total_width / columns
    local top = legend_height + (i - 1) // columns * (panel_height + strip_height)
    add(left, top, total_width / columns, panel_height, format_panel(panel))
    if panel.strip then
      add(left, top + panel_height, total_width / columns, strip_height, format_strip(panel.strip))
    end
  end
  add(0, 0, total_width, legend_height, legend)
  return lists.append(lines, { "unset multiplot" }), total_width, total_height
end

-- Returns the script of a figure's files: gnuplot writes <name>.svg, .pdf and .png into its working folder.
function M.make_script(figure)
  local blocks, lines, width, height = make_blocks(figure), format_drawing(figure)
  return gnuplot.make_script({ name = figure.name, width = width, height = height, data = blocks, font = FONT }, lines)
end

-- Sizes on the page, in pixels:
--   width, height              of a panel
--   left, right, top, bottom   margins of a panel
--   levels                     the right margin of panels with levels
--   sample                     width and height of a sample of a line, the smallest picture that gnuplot can draw
--   strip                      height and margins of a strip
M.PAGE = { width = 460, height = 300, left = 52, right = 14, levels = 112, top = 28, bottom = 56, sample = { 100, 60 },
  strip = { height = 86, top = 26, bottom = 12 } }

-- Returns the right edge of the axes in each of a figure's panels on the page, in pixels.
function M.get_right_edge(figure)
  local has_levels = lists.find(figure.panels, function(panel) return panel.levels and #panel.levels > 0 end)
  return M.PAGE.width - (has_levels and M.PAGE.levels or M.PAGE.right)
end

-- Returns the curves that gnuplot draws in a panel, in the order of drawing; false stands for a level.
function M.list_drawn_curves(panel)
  return lists.map(list_parts(panel), function(element) return element[2] or false end)
end

-- Returns the lines that set the margins of a picture of the page. layout: a panel's or a strip's part of M.PAGE.
local function format_margins(figure, layout)
  return ("set lmargin at screen %.6f\nset rmargin at screen %.6f\nset tmargin at screen %.6f\n"
    .. "set bmargin at screen %.6f\n"):format(M.PAGE.left / M.PAGE.width, M.get_right_edge(figure) / M.PAGE.width,
    1 - layout.top / layout.height, layout.bottom / layout.height)
end

-- Returns a script that draws every panel and strip of a figure, and a sample of every line, each into its own SVG:
-- { path, text, makes (the names of these SVG files) }. gnuplot reads this script after the script of M.make_script,
-- which defines the data.
function M.make_page(figure)
  local layout, makes, lines = M.PAGE, {}, { FRAME, "set key off" }
  local function add(kind, i, width, height, text)
    makes[#makes + 1] = ("%s-%s%d.svg"):format(figure.name, kind, i)
    lists.append(lines, { ("set terminal svg noenhanced size %d,%d dynamic font 'Helvetica,12'"):format(width, height),
      "set output " .. quote(makes[#makes]), text })
  end
  for i, panel in ipairs(figure.panels) do
    add("panel", i, layout.width, layout.height, format_margins(figure, layout) .. format_panel(panel, layout.height))
    if panel.strip then
      add("strip", i, layout.width, layout.strip.height, format_margins(figure, layout.strip)
        .. format_strip(panel.strip, layout.strip.height))
    end
  end
  lists.append(lines, { BARE, "set margins 0, 0, 0, 0", gnuplot.make_block("sample", { "-1 0.5", "0.5 0.5",
    "2 0.5" }) })
  for i, line in ipairs((M.list_lines(figure))) do
    add("sample", i, layout.sample[1], layout.sample[2], "plot $sample " .. format_style(line.style))
  end
  return { path = figure.name .. ".page", text = table.concat(lines, "\n") .. "\nunset output\n", makes = makes }
end

return M
