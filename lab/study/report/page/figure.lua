-- A figure on the page: a legend, a picture of each panel, and the numbers of each panel as a table.
--
-- Input:
--   figure     from figures.lua or compare.lua. A bold curve may have `cell`, the index of its cell, or `cells`,
--              { [x] = index of a cell }, if each point has its own cell
--   pictures   name of a file (curves.make_page) -> the SVG that gnuplot drew; empty without gnuplot
-- Output: HTML that is also valid XML. Colours become CSS properties that the page sets for light and dark backgrounds.
-- A script (page.js) reads numbers from the tables, and hides a line when its name is pressed. So every part of a line
-- is in a group with the line's index.

local canonical = require("base.canonical")
local curves = require("lab.study.report.figures.curves")
local html = require("lab.study.report.page.html")
local lists = require("base.lists")
local escape = require("base.escape").html

local M = {}

-- CSS properties of page.css by the colours in gnuplot's SVG; any other colour belongs to a line.
local ROLES = { ["#222222"] = "ink", ["#444444"] = "ink", ["#777777"] = "soft", ["#888888"] = "soft",
  ["#999977"] = "soft", ["#a0a0a0"] = "soft" }

local function name_role(r, g, b)
  return ("var(--%s)"):format(ROLES[("#%02x%02x%02x"):format(r, g, b)] or "colour")
end

local function format_properties(style)
  return ('style="--light:%s;--dark:%s"'):format(style.colour, style.dark)
end

-- Returns gnuplot's SVG as an element for the page, without background and with CSS colours.
--   attributes   of the root element
--   groups       the attributes of the group of each curve, in gnuplot's order
local function inline_svg(svg, attributes, groups)
  svg = svg:gsub("^.-<svg.->", "", 1):gsub("<title>.-</title>", ""):gsub("<desc>.-</desc>", "")
    :gsub("<filter.-</filter>", ""):gsub("<rect x=[^<>]*/>", "", 1) -- the background
    :gsub('<g id="gnuplot_plot_(%d+)"', function(number) return "<g " .. (groups[tonumber(number)] or "") end)
    :gsub(' id="gnuplot[^"]*"', ""):gsub("xlink:href", "href"):gsub("rgb%(%s*(%d+),%s*(%d+),%s*(%d+)%)", name_role)
    :gsub('fill="black"', 'fill="var(--ink)"'):gsub(' font%-family="[^"]*"', "")
    :gsub("<g [^<>]*>%s*</g>%s*", ""):gsub("%s*\n%s*", "\n"):gsub("\t", " ")
  return ('<svg xmlns="http://www.w3.org/2000/svg" %s>%s'):format(attributes, svg)
end

-- Returns the picture of a panel or a strip.
--   layout         curves.PAGE for a panel, curves.PAGE.strip for a strip
--   line_numbers   title of a line -> the line's index
--   alternative    the text alternative of the picture
local function make_picture(panel, svg, layout, line_numbers, alternative)
  local groups = lists.map(curves.list_drawn_curves(panel), function(curve) -- false: a horizontal line
    return curve and curve.line and ('class="line" data-line="%d" %s'):format(line_numbers[curve.line],
      format_properties(curve.style)) or 'class="level"'
  end)
  return ('<div class="plot" style="--top:%.2f%%;--bottom:%.2f%%">%s</div>'):format(100 * layout.top / layout.height,
    100 * layout.bottom / layout.height, inline_svg(svg, ('viewBox="0 0 %d %d" role="img" aria-label="%s"'):format(
    curves.PAGE.width, layout.height, escape(alternative)), groups))
end

-- Returns the distance of a value of the x axis from the picture's left edge, as a share of the picture's width.
local function compute_share(figure, panel, value)
  local function scale(x)
    return panel.x.log and math.log(x) or x
  end
  local from, to = scale(panel.x[1]), scale(panel.x[2])
  local share = to > from and (scale(value) - from) / (to - from) or 0.5
  return (curves.PAGE.left + (curves.get_right_edge(figure) - curves.PAGE.left) * share) / curves.PAGE.width
end

-- Attributes of a line's sample in the legend. The view box selects the middle of gnuplot's picture of the sample,
-- 36 by 14 pixels.
local KEY = ('class="key" aria-hidden="true" viewBox="%d %d 36 14" %%s'):format(curves.PAGE.sample[1] / 2 - 18,
  curves.PAGE.sample[2] / 2 - 7)

local function make_legend(figure, lines, pictures)
  local items = lists.map(lines, function(line, i)
    local sample = inline_svg(pictures[("%s-sample%d.svg"):format(figure.name, i)],
      KEY:format(format_properties(line.style)), {})
    return ('<li data-toggle="%d">%s<span>%s</span></li>'):format(i, sample, escape(line.title))
  end)
  if lists.find(figure.panels, function(panel) return panel.shade end) then
    items[#items + 1] = '<li><span class="swatch"></span><span>training lengths</span></li>'
  end
  return ('<ul class="legend" aria-label="Curves">%s</ul>'):format(table.concat(items))
end

local function format_number(panel, value)
  return (panel.percent and (panel.y.zoom and "%.2f" or "%.1f") or "%.4g"):format(value)
end

-- Returns the series of a panel, one for each bold curve:
--   curve        the curve
--   number       the index of the curve's line
--   points       the shown points of the curve
--   point_by_x   x -> the shown point
--   band_by_x    x -> the point of the band
-- Second result: the x of all shown points, ascending.
local function list_series(panel, line_numbers)
  local function get_x(point)
    return point[1]
  end
  local bold = lists.filter(panel.curves, function(curve) return not curve.faint end)
  local series = lists.map(bold, function(curve)
    local points = curves.thin(curve.points)
    return { curve = curve, number = line_numbers[curve.line], points = points,
      point_by_x = lists.index_by(points, get_x),
      band_by_x = lists.index_by(curves.thin(curve.band or {}), get_x) }
  end)
  return series, canonical.sort_keys(lists.index_by(lists.collect(series, function(entry) return entry.points end),
    get_x))
end

local function link_cell(cell_index, text)
  return cell_index and ('<a href="#cell-%d">%s</a>'):format(cell_index, text) or text
end

local function make_value_cell(panel, entry, x)
  local point, band, cell_indices = entry.point_by_x[x], entry.band_by_x[x], entry.curve.cells or {}
  local text = point and link_cell(cell_indices[x], format_number(panel, point[2])) or ""
  return ('<td data-line="%d">%s%s</td>'):format(entry.number, text, point and band
    and (" <small>(%s to %s)</small>"):format(format_number(panel, band[2]), format_number(panel, band[3])) or "")
end

-- Returns the table of a panel's numbers, whose column titles link to runs. is_open: whether the table is unfolded.
local function make_numbers(figure, panel, series, xs, is_open)
  local heads = lists.map(series, function(entry)
    return ('<th scope="col" data-line="%d">%s</th>'):format(entry.number, link_cell(entry.curve.cell,
      escape(entry.curve.line)))
  end)
  local rows = lists.map(xs, function(x)
    return ('<tr data-x="%.4f"><th scope="row">%.6g</th>%s</tr>'):format(compute_share(figure, panel, x), x,
      table.concat(lists.map(series, function(entry) return make_value_cell(panel, entry, x) end)))
  end)
  local title = panel.title and panel.title ~= "" and panel.title or "the curves"
  local body = ('<table><caption>%s</caption><thead><tr><th scope="col">%s</th>%s</tr></thead><tbody>\n%s\n'
    .. '</tbody></table>'):format(escape(panel.ylabel) .. (panel.percent and ", percent" or ""), escape(panel.xlabel),
    table.concat(heads), table.concat(rows, "\n"))
  return ('<details class="numbers"%s><summary>Numbers<span class="unseen"> of %s</span></summary>%s</details>'):format(
    is_open and ' open="open"' or "", escape(title), html.wrap("Numbers of " .. title, body))
end

-- Returns the text alternative of a picture: the first and the last number of each line.
local function describe_picture(panel, series)
  local parts = lists.map(series, function(entry)
    local first, last = entry.points[1], entry.points[#entry.points]
    return ("%s: %s at %.6g, %s at %.6g"):format(entry.curve.line ~= "" and entry.curve.line or "curve",
      format_number(panel, first[2]), first[1], format_number(panel, last[2]), last[1])
  end)
  return ("%s%s%s by %s. %s."):format(panel.title or "", panel.title and panel.title ~= "" and ": " or "",
    panel.ylabel .. (panel.percent and " in percent" or ""), panel.xlabel, table.concat(parts, "; "))
end

-- Returns a panel's pictures and table. svg, strip_svg: pictures of the panel and of its strip, or nil.
local function make_panel_body(figure, panel, svg, strip_svg, line_numbers)
  local series, xs = list_series(panel, line_numbers)
  local title = panel.title and panel.title ~= "" and ("<h3>%s</h3>"):format(escape(panel.title)) or ""
  local picture = svg and make_picture(panel, svg, curves.PAGE, line_numbers, describe_picture(panel, series)) or ""
  picture = picture .. (strip_svg and make_picture(panel.strip, strip_svg, curves.PAGE.strip, line_numbers,
    describe_picture(panel.strip, (list_series(panel.strip, line_numbers)))) or "")
  return ('<div class="panel" data-axis="%s">%s%s%s</div>'):format(escape(panel.xlabel), title, picture,
    make_numbers(figure, panel, series, xs, not svg))
end

function M.make_body(figure, pictures)
  local lines, line_numbers = curves.list_lines(figure)
  local panels = lists.map(figure.panels, function(panel, i)
    return make_panel_body(figure, panel, pictures[("%s-panel%d.svg"):format(figure.name, i)],
      pictures[("%s-strip%d.svg"):format(figure.name, i)], line_numbers)
  end)
  return ('<figure class="curves">%s<div class="panels">\n%s\n</div>%s</figure>'):format(next(pictures)
    and make_legend(figure, lines, pictures) or '<p class="flag">no picture</p>', table.concat(panels, "\n"),
    figure.caption and ("<figcaption>%s</figcaption>"):format(escape(figure.caption)) or "")
end

return M
