-- Pictures of many panels of the same size, as gnuplot scripts.
--
-- Input: see M.make_script. Output: text; gnuplot is not run here.

local colours = require("lab.study.report.figures.colours")
local gnuplot = require("lab.study.report.figures.gnuplot")
local lists = require("base.lists")

local M = {}

local SETTINGS = {
  ("set palette defined (%s)"):format(table.concat(lists.map(colours.VIRIDIS, function(colour, i)
    return ("%d '%s'"):format(i, colour)
  end), ", ")),
  "unset key", "unset colorbox", "set border 15 lw 0.6 lc rgb '#444444'",
  "set tics out scale 0.4 nomirror font ',8' textcolor rgb '#444444'", "set xtics autofreq offset 0,0.4",
  "set ytics autofreq offset 0.6,0",
}

local LEFT, RIGHT, TOP, BOTTOM = 52, 84, 100, 36 -- margins around all panels in pixels
local COLUMN_GAP, ROW_GAP = 42, 74 -- space between panels in pixels

-- Returns the left and the upper edge of a panel, in pixels.
local function find_corner(picture, row, column)
  return picture.left + (column - 1) * (picture.panel_width + picture.column_gap),
    TOP + (row - 1) * (picture.panel_height + picture.row_gap)
end

local function format_margins(picture, row, column)
  local x, y = find_corner(picture, row, column)
  return ("set lmargin at screen %.6f\nset rmargin at screen %.6f\nset tmargin at screen %.6f\n"
    .. "set bmargin at screen %.6f"):format(x / picture.width, (x + picture.panel_width) / picture.width,
    1 - y / picture.height, 1 - (y + picture.panel_height) / picture.height)
end

local function format_label(picture, number, text, y, size)
  return ("set label %d %s at screen %.6f,%.6f left font ',%d' front"):format(number, gnuplot.quote(text),
    LEFT / picture.width, 1 - y / picture.height, size)
end

-- Returns the plot command of a panel, without empty layers. Appends the data of the layers to picture.data.
local function format_plot(picture, panel)
  local parts = lists.map(panel.layers, function(layer)
    local name = ("block%d"):format(#picture.data + 1)
    picture.data[#picture.data + 1] = #layer[1] > 0 and gnuplot.make_block(name, layer[1]) or nil
    return #layer[1] > 0 and ("$%s %s"):format(name, layer[2]) or nil
  end)
  return "plot " .. (#parts > 0 and table.concat(parts, ", ") or "NaN")
end

local function add_panels(picture, lines)
  for r, row in ipairs(picture.rows) do
    local _, y = find_corner(picture, r, 1)
    for c, panel in ipairs(row) do
      lists.append(lines, { format_margins(picture, r, c),
        c == 1 and format_label(picture, 3, row.label, y - 36, 11) or nil })
      lines[#lines + 1] = ("set title %s offset 0,-0.7 font ',10'"):format(gnuplot.quote(panel.title))
      lists.append(lines, panel.lines)
      lists.append(lines, { format_plot(picture, panel), "unset label" })
    end
  end
end

-- Returns `rows` for M.make_script, each with at most `max_panels` panels. heading: the text above the first row.
function M.arrange(list, max_panels, heading)
  local rows = {}
  for i, panel in ipairs(list) do
    if (i - 1) % max_panels == 0 then
      rows[#rows + 1] = { label = i == 1 and heading or "" }
    end
    table.insert(rows[#rows], panel)
  end
  return rows
end

-- Returns the script of a picture:
--   name                 of the files
--   title, note          lines above the panels
--   panel_height         in pixels
--   panel_width          in pixels; nil: the height
--   settings             lines of the script after SETTINGS, or nil
--   left, bottom         pixels to the left of all panels and below them; nil: LEFT and BOTTOM
--   column_gap, row_gap  pixels between panels of a row, and between rows; nil: COLUMN_GAP and ROW_GAP
--   rows                 lists of panels; row.label is the text above a row
-- Fields of a panel:
--   title
--   lines    lines of the script that set the axes
--   layers   a list of { data, words }: lines of numbers, and gnuplot's words that draw these numbers
function M.make_script(picture)
  local columns = math.max(1, lists.max(picture.rows, function(row) return #row end))
  picture.left, picture.bottom = picture.left or LEFT, picture.bottom or BOTTOM
  picture.column_gap, picture.row_gap = picture.column_gap or COLUMN_GAP, picture.row_gap or ROW_GAP
  picture.panel_width = picture.panel_width or picture.panel_height
  picture.width = picture.left + RIGHT + columns * (picture.panel_width + picture.column_gap) - picture.column_gap
  picture.height = TOP + picture.bottom + #picture.rows * (picture.panel_height + picture.row_gap) - picture.row_gap
  picture.data, picture.max_width = {}, gnuplot.to_pixels(gnuplot.TEXT_WIDTH)
  local drawing = lists.append(lists.join(SETTINGS, picture.settings or {}), {
    format_label(picture, 1, picture.title, 20, 14), format_label(picture, 2, picture.note, 40, 10), "set multiplot" })
  add_panels(picture, drawing)
  drawing[#drawing + 1] = "unset multiplot"
  return gnuplot.make_script(picture, drawing)
end

return M
