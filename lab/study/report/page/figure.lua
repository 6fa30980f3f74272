-- A figure on the page: the names of its lines, a picture of each panel, and the numbers of each as a table.
--
-- Input: a figure as figures.lua and compare.lua make them; of its curves that are no single seeds `cell` is the number
-- of the cell that all of it is of, `cells` by x where each point is of another. Output: HTML that is XML too. A script
-- (page_script.lua) hides lines by their names, and reads the numbers from the tables.

local canonical = require("base.canonical")
local curves = require("lab.study.report.figures.curves")
local html = require("lab.study.report.page.html")
local lists = require("base.lists")
local picture = require("lab.study.report.page.picture")
local tongues = require("base.tongues")

local M = {}

local escape = tongues.html

-- The lines of a figure, { title, style }: those of its list of names, else its curves.
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
    return ('<li data-toggle="%d">%s<span>%s</span></li>'):format(i, picture.key(line.style), escape(line.title))
  end)
  if lists.find(figure.panels, function(panel) return panel.shade end) then
    items[#items + 1] = '<li><span class="swatch"></span><span>training lengths</span></li>'
  end
  return ('<ul class="legend" aria-label="Curves">%s</ul>'):format(table.concat(items))
end

local function number_text(panel, value)
  return (panel.percent and (panel.y.zoom and "%.2f" or "%.1f") or "%.4g"):format(value)
end

-- The bold curves of a panel by their line's number, each with its points by x; and all x, rising.
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

-- The numbers of a panel; columns lead to the runs that they are made of.
local function values(panel, series, xs)
  local heads = lists.map(series, function(one)
    local title, cell = escape(one.curve.line), one.curve.cell
    return ('<th scope="col" data-line="%d">%s</th>'):format(one.number, cell
      and ('<a href="#cell-%d">%s</a>'):format(cell, title) or title)
  end)
  local rows = lists.map(xs, function(x)
    return ('<tr data-x="%.1f"><th scope="row">%.6g</th>%s</tr>'):format(picture.x(panel, x), x, table.concat(
      lists.map(series, function(one) return value_cell(panel, one, x) end)))
  end)
  local of = panel.title and panel.title ~= "" and panel.title or "the curves"
  local body = ('<table><caption>%s</caption><thead><tr><th scope="col">%s</th>%s</tr></thead><tbody>\n%s\n'
    .. '</tbody></table>'):format(escape(panel.ylabel) .. (panel.percent and ", percent" or ""), escape(panel.xlabel),
    table.concat(heads), table.concat(rows, "\n"))
  return ('<details class="numbers"><summary>Numbers<span class="unseen"> of %s</span></summary>%s</details>'):format(
    escape(of), html.box("Numbers of " .. of, body))
end

-- What the picture shows, in words: each line from its first to its last number.
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
    picture.panel(panel, numbers, alternative(panel, series)), values(panel, series, xs))
end

function M.body(figure)
  local lines, numbers = lines_of(figure)
  local beside = curves.has_levels(figure)
  local panels = lists.map(figure.panels, function(panel)
    panel.beside = beside -- all panels are of one width
    return panel_body(panel, numbers)
  end)
  return ('<figure class="curves">%s<div class="panels">\n%s\n</div>%s</figure>'):format(legend(figure, lines),
    table.concat(panels, "\n"), figure.caption and ("<figcaption>%s</figcaption>"):format(escape(figure.caption)) or "")
end

return M
