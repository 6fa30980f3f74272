-- A figure on the page: a legend, a picture of each panel, and the numbers of each panel as a table.
--
-- Input: a figure from figures.lua or compare.lua; a bold curve has `cell`, the number of its cell, or `cells` by x if
-- each point has its own cell. Output: HTML that is also valid XML. A script (page.js) hides lines when their names are
-- pressed, and reads numbers from the tables. Colours in the pictures, which are SVG, are CSS properties that the page
-- sets for light and dark backgrounds; all parts of a line are in a named group, which the script can hide.

local canonical = require("base.canonical")
local colours = require("lab.study.report.figures.colours")
local curves = require("lab.study.report.figures.curves")
local html = require("lab.study.report.page.html")
local lists = require("base.lists")
local scales = require("lab.study.report.figures.scales")
local escape = require("base.escape").html

local M = {}

-- ---- a panel as SVG ----

local WIDTH, HEIGHT = 460, 300
local LEFT, RIGHT, TOP, BOTTOM = 48, 14, 30, 44
local LEVELS = 66 -- pixels on the right for names of levels, in place of RIGHT
local TIC_WIDTH, TIC_HEIGHT = 34, 15 -- least distances between ticks that both have a number
local LEVEL_HEIGHT = 28 -- pixels of a level's name, two lines
local MARKS = 8 -- markers on a curve

-- Shapes of points, by gnuplot's number of the point.
local POINTS = {
  [1] = "m-4,0h8m-4,-4v8", [2] = "m-3,-3l6,6m0,-6l-6,6", [3] = "m-4,0h8m-4,-4v8m-3,-7l6,6m0,-6l-6,6",
  [5] = "m-2.7,-2.7h5.4v5.4h-5.4z", [7] = "m-3.2,0a3.2,3.2 0 1,0 6.4,0a3.2,3.2 0 1,0 -6.4,0",
  [9] = "m0,-3.6l3.5,6.2h-7z", [11] = "m0,3.6l3.5,-6.2h-7z", [13] = "m0,-4.2l3.4,4.2l-3.4,4.2l-3.4,-4.2z",
}

local function dashes(style)
  local numbers = style.dash:match("%((.*)%)")
  return numbers and (' stroke-dasharray="%s"'):format(numbers) or ""
end

-- The CSS properties of a style, which the colour rules of page.css read.
local function properties(style)
  return ('style="--light:%s;--dark:%s"'):format(colours.against(style.colour, colours.LIGHT),
    colours.against(style.colour, colours.DARK))
end

local function path(class, points, more)
  local parts = lists.map(points, function(point) return ("%.1f,%.1f"):format(point[1], point[2]) end)
  return ('<path class="%s" d="M%s"%s/>'):format(class, table.concat(parts, "L"), more or "")
end

-- The picture's coordinates of a panel's numbers. panel.beside: leave space on the right for names of levels.
local function frame_of(panel)
  local right = WIDTH - (panel.beside and LEVELS or RIGHT)
  local bottom = HEIGHT - BOTTOM
  return { right = right, bottom = bottom,
    x = function(value)
      return LEFT + (right - LEFT) * scales.place(panel.x, value)
    end,
    y = function(value)
      return bottom - (bottom - TOP) * scales.place(panel.y, value)
    end }
end

-- The distance of a value of the x axis from the picture's left edge.
local function x_of(panel, value)
  return frame_of(panel).x(value)
end

local function text_at(class, x, y, what)
  return ('<text class="%s" x="%.1f" y="%.1f">%s</text>'):format(class, x, y, escape(what))
end

local function axes(panel, frame)
  local parts, last = {}, math.huge
  for _, value in ipairs(scales.tics(panel.y)) do
    local y = frame.y(value)
    parts[#parts + 1] = ('<path class="grid" d="M%d,%.1fH%.1f"/>'):format(LEFT, y, frame.right)
    if last - y >= TIC_HEIGHT then
      parts[#parts + 1], last = text_at("end", LEFT - 6, y + 4, ("%g%s"):format(value, panel.percent and "%" or "")), y
    end
  end
  last = -math.huge
  for _, value in ipairs(scales.tics(panel.x)) do
    local x = frame.x(value)
    parts[#parts + 1] = ('<path class="axis" d="M%.1f,%.1fv5"/>'):format(x, frame.bottom)
    if x - last >= TIC_WIDTH then
      parts[#parts + 1], last = text_at("middle", x, frame.bottom + 18, ("%g"):format(value)), x
    end
  end
  parts[#parts + 1] = ('<path class="axis" d="M%d,%dV%.1fH%.1f"/>'):format(LEFT, TOP, frame.bottom, frame.right)
  parts[#parts + 1] = text_at("middle", (LEFT + frame.right) / 2, HEIGHT - 8, panel.xlabel)
  parts[#parts + 1] = text_at("start", 4, 16, scales.label(panel.ylabel, panel.y))
  return table.concat(parts)
end

-- Names of levels, to the right of their lines and without overlap, with the number on a second line of text.
local function level_names(panel, frame)
  local order = lists.map(panel.levels, function(level) return { y = frame.y(level[1]), name = level[2] } end)
  table.sort(order, function(a, b) return a.y > b.y end)
  return table.concat(lists.map(order, function(entry, i)
    local below = order[i - 1]
    entry.at = math.min(entry.y, below and below.at - LEVEL_HEIGHT or frame.bottom - LEVEL_HEIGHT / 4)
    local word, number = entry.name:match("^(.*) (%S+)$")
    local x = frame.right + 6
    return word and text_at("start", x, entry.at - 2, word) .. text_at("start", x, entry.at + 11, number)
      or text_at("start", x, entry.at + 4, entry.name)
  end))
end

local function behind(panel, frame)
  local parts = {}
  if panel.shade then
    local from, to = frame.x(panel.shade[1]), frame.x(panel.shade[2])
    parts[1] = ('<rect class="shade" x="%.1f" y="%d" width="%.1f" height="%.1f"/>'):format(from, TOP,
      math.max(2, to - from), frame.bottom - TOP)
  end
  lists.append(parts, lists.map(panel.marks or {}, function(mark)
    return ('<path class="limit" d="M%.1f,%dV%.1f"/>'):format(frame.x(mark[1]), TOP, frame.bottom)
  end))
  return table.concat(lists.append(parts, lists.map(panel.levels or {}, function(level, i)
    return ('<path class="level" d="M%d,%.1fH%.1f" stroke-dasharray="%s"/>'):format(LEFT, frame.y(level[1]),
      frame.right, i == 1 and "2 3" or "8 3")
  end)))
end

-- A closed path along the upper quartiles and back along the lower quartiles.
local function band_path(points, frame)
  local places, thin = {}, curves.thin(points)
  for i, point in ipairs(thin) do
    places[i] = { frame.x(point[1]), frame.y(point[3]) }
    places[2 * #thin + 1 - i] = { frame.x(point[1]), frame.y(point[2]) }
  end
  return path("band", places)
end

local function marks(places, style, number)
  local parts, step = {}, math.max(1, math.ceil(#places / MARKS))
  for i = 1 + number % step, #places, step do
    parts[#parts + 1] = ("M%.1f,%.1f%s"):format(places[i][1], places[i][2], POINTS[style.point])
  end
  return ('<path class="mark" d="%s"/>'):format(table.concat(parts))
end

local function curve_text(curve, frame, number)
  local places = lists.map((curves.thin(curve.points)), function(point)
    return { frame.x(point[1]), frame.y(point[2]) }
  end)
  if curve.faint then
    return path("seed", places, dashes(curve.style))
  end
  return (curve.band and band_path(curve.band, frame) or "") .. path("mean", places, dashes(curve.style))
    .. marks(places, curve.style, number)
end

-- The curves, grouped by line; a group lists single seeds before the bold curve, which is thus drawn over them.
local function lines_drawn(panel, frame, numbers)
  local groups = lists.group(panel.curves, function(curve) return numbers[curve.line] end)
  return table.concat(lists.map(groups, function(group)
    return ('<g data-line="%d" %s>%s</g>'):format(group.key, properties(group[1].style), table.concat(lists.map(group,
      function(curve) return curve_text(curve, frame, group.key) end)))
  end))
end

-- Draws a panel. numbers: the number of each line, by its name.
local function drawing(panel, numbers, alternative)
  local frame = frame_of(panel)
  return ('<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="%s" viewBox="0 0 %d %d">%s%s%s%s'
    .. '<path class="rule" d="M0,%dV%.1f"/></svg>'):format(escape(alternative), WIDTH, HEIGHT,
    behind(panel, frame), axes(panel, frame), panel.levels and level_names(panel, frame) or "",
    lines_drawn(panel, frame, numbers), TOP, frame.bottom)
end

-- Draws a sample of a line's style for the legend.
local function key_of(style)
  return ('<svg xmlns="http://www.w3.org/2000/svg" class="key" aria-hidden="true" viewBox="0 0 36 14" %s>'
    .. '<path class="mean" d="M1,7H35"%s/><path class="mark" d="M18,7%s"/></svg>'):format(properties(style),
    dashes(style), POINTS[style.point])
end

-- ---- legend and tables ----

-- The lines of a figure, { title, style }: first the legend's, then all others; and the lines' numbers.
local function lines_of(figure)
  local list, numbers = {}, {}
  local function add(title, style)
    if title and not numbers[title] then
      list[#list + 1] = { title = title, style = style }
      numbers[title] = #list
    end
  end
  local shown = {}
  for _, curve in lists.nested(figure.panels, "curves") do
    shown[curve.line] = true
  end
  for _, entry in ipairs(figure.legend or {}) do
    add(shown[entry.title] and entry.title, entry.style)
  end
  for _, curve in lists.nested(figure.panels, "curves") do
    add(curve.line, curve.style)
  end
  return list, numbers
end

local function legend(figure, lines)
  local items = lists.map(lines, function(line, i)
    return ('<li data-toggle="%d">%s<span>%s</span></li>'):format(i, key_of(line.style), escape(line.title))
  end)
  if lists.find(figure.panels, function(panel) return panel.shade end) then
    items[#items + 1] = '<li><span class="swatch"></span><span>training lengths</span></li>'
  end
  return ('<ul class="legend" aria-label="Curves">%s</ul>'):format(table.concat(items))
end

local function number_text(panel, value)
  return (panel.percent and (panel.y.zoom and "%.2f" or "%.1f") or "%.4g"):format(value)
end

-- The bold curves of a panel by their line's number, each with its points by x; and all x values, in ascending order.
local function series_of(panel, numbers)
  local at_xs = {}
  local series = lists.map(panel.curves, function(curve)
    local one = { curve = curve, number = numbers[curve.line], points = curves.thin(curve.points), at = {}, band = {} }
    for _, point in ipairs(curve.faint and {} or one.points) do
      one.at[point[1]], at_xs[point[1]] = point[2], true
    end
    for _, point in ipairs((curves.thin(curve.band or {}))) do
      one.band[point[1]] = point
    end
    return not curve.faint and one or nil
  end)
  return series, canonical.sorted_keys(at_xs)
end

local function value_cell(panel, one, x)
  local value, band, cells = one.at[x], one.band[x], one.curve.cells
  local text = value and number_text(panel, value) or ""
  if value and cells and cells[x] then
    text = ('<a href="#cell-%d">%s</a>'):format(cells[x], text)
  end
  return ('<td data-line="%d">%s%s</td>'):format(one.number, text, value and band
    and (" <small>(%s to %s)</small>"):format(number_text(panel, band[2]), number_text(panel, band[3])) or "")
end

-- The table of a panel's numbers; column titles link to runs.
local function values(panel, series, xs)
  local heads = lists.map(series, function(one)
    local title, cell = escape(one.curve.line), one.curve.cell
    return ('<th scope="col" data-line="%d">%s</th>'):format(one.number, cell
      and ('<a href="#cell-%d">%s</a>'):format(cell, title) or title)
  end)
  local rows = lists.map(xs, function(x)
    return ('<tr data-x="%.1f"><th scope="row">%.6g</th>%s</tr>'):format(x_of(panel, x), x, table.concat(
      lists.map(series, function(one) return value_cell(panel, one, x) end)))
  end)
  local of = panel.title and panel.title ~= "" and panel.title or "the curves"
  local body = ('<table><caption>%s</caption><thead><tr><th scope="col">%s</th>%s</tr></thead><tbody>\n%s\n'
    .. '</tbody></table>'):format(escape(panel.ylabel) .. (panel.percent and ", percent" or ""), escape(panel.xlabel),
    table.concat(heads), table.concat(rows, "\n"))
  return ('<details class="numbers"><summary>Numbers<span class="unseen"> of %s</span></summary>%s</details>'):format(
    escape(of), html.box("Numbers of " .. of, body))
end

-- The text alternative of the picture: the first and the last number of each line.
local function alternative(panel, series)
  local parts = lists.map(series, function(one)
    local first, last = one.points[1], one.points[#one.points]
    return ("%s: %s at %.6g, %s at %.6g"):format(one.curve.line ~= "" and one.curve.line or "curve",
      number_text(panel, first[2]), first[1], number_text(panel, last[2]), last[1])
  end)
  return ("%s%s%s by %s. %s."):format(panel.title or "", panel.title and panel.title ~= "" and ": " or "",
    panel.ylabel .. (panel.percent and " in percent" or ""), panel.xlabel, table.concat(parts, "; "))
end

local function panel_body(panel, numbers)
  local series, xs = series_of(panel, numbers)
  local title = panel.title and panel.title ~= "" and ("<h3>%s</h3>"):format(escape(panel.title)) or ""
  return ('<div class="panel" data-axis="%s">%s<div class="plot">%s</div>%s</div>'):format(escape(panel.xlabel), title,
    drawing(panel, numbers, alternative(panel, series)), values(panel, series, xs))
end

function M.body(figure)
  local lines, numbers = lines_of(figure)
  local beside = curves.has_levels(figure)
  local panels = lists.map(figure.panels, function(panel)
    panel.beside = beside -- gives all panels the same width
    return panel_body(panel, numbers)
  end)
  return ('<figure class="curves">%s<div class="panels">\n%s\n</div>%s</figure>'):format(legend(figure, lines),
    table.concat(panels, "\n"), figure.caption and ("<figcaption>%s</figcaption>"):format(escape(figure.caption)) or "")
end

return M
