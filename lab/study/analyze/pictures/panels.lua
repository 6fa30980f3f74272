-- Pictures of many panels, as gnuplot scripts that draw an SVG and a PNG.
--
-- Input: see M.script. Output: text; gnuplot is not run here. Equal steps of the palette, viridis, look equal.

local lists = require("base.lists")
local escape = require("base.escape")

local M = {}

local TERMINALS = {
  { "svg", "set terminal svg size %d,%d font 'Helvetica,12' background rgb 'white'", 1 },
  { "png", "set terminal pngcairo size %d,%d font 'Sans,12' fontscale 1.6 linewidth 1.6 pointscale 1.6", 1.6 },
}

local PALETTE = [[
set palette defined (0 '#440154', 1 '#472d7b', 2 '#3b528b', 3 '#2c728e', 4 '#21918c', 5 '#28ae80', 6 '#5ec962', \
  7 '#addc30', 8 '#fde725')]]

local LEFT, RIGHT, TOP, BOTTOM = 52, 84, 100, 36 -- margins around all panels in pixels
local ACROSS, DOWN = 42, 74                       -- space between panels in pixels

-- The left and the upper edge of a panel in pixels.
local function corner(picture, row, column)
  return picture.left + (column - 1) * (picture.panel + picture.across),
    TOP + (row - 1) * (picture.panel + picture.down)
end

local function place(picture, row, column)
  local x, y = corner(picture, row, column)
  return ("set lmargin at screen %.6f\nset rmargin at screen %.6f\nset tmargin at screen %.6f\n"
    .. "set bmargin at screen %.6f"):format(x / picture.width, (x + picture.panel) / picture.width,
    1 - y / picture.height, 1 - (y + picture.panel) / picture.height)
end

local function label(picture, number, text, y, size)
  return ("set label %d %s at screen %.6f,%.6f left noenhanced font ',%d' front"):format(number, escape.gnuplot(text),
    LEFT / picture.width, 1 - y / picture.height, size)
end

local function draw(picture, lines)
  for r, row in ipairs(picture.rows) do
    local _, y = corner(picture, r, 1)
    for c, panel in ipairs(row) do
      lines[#lines + 1] = place(picture, r, c)
      lines[#lines + 1] = c == 1 and label(picture, 3, row.label, y - 36, 11) or "unset label"
      lines[#lines + 1] = ("set title %s noenhanced offset 0,-0.7 font ',10'"):format(escape.gnuplot(panel.title))
      lists.append(lines, panel.lines)
    end
  end
end

-- Returns the script that writes a drawing, lines of gnuplot, to <name>.svg and <name>.png. picture = { name, width,
-- height, data }: the size of the SVG in pixels, and lines that precede both drawings.
function M.twice(picture, drawing)
  local lines = { "set encoding utf8" }
  lists.append(lines, picture.data or {})
  for _, terminal in ipairs(TERMINALS) do
    local scale = terminal[3]
    lines[#lines + 1] = terminal[2]:format(math.floor(scale * picture.width), math.floor(scale * picture.height))
    lines[#lines + 1] = ("set output %s"):format(escape.gnuplot(picture.name .. "." .. terminal[1]))
    lists.append(lines, drawing)
    lines[#lines + 1] = "unset output\nreset"
  end
  return table.concat(lines, "\n") .. "\n"
end

-- Adds a block of data with this name, letters and digits, to the lines before a drawing.
function M.add_block(data, name, lines)
  data[#data + 1] = ("$%s << EOD\n%s\nEOD"):format(name, table.concat(lines, "\n"))
end

-- Arranges panels in rows of `across` panels; the first row has a heading.
function M.rows(list, across, heading)
  local rows = {}
  for i, panel in ipairs(list) do
    if (i - 1) % across == 0 then
      rows[#rows + 1] = { label = i == 1 and heading or "" }
    end
    table.insert(rows[#rows], panel)
  end
  return rows
end

-- picture = { name, title, note, panel, settings, data, rows, left, across, down }: name of the files; title and note
-- above the panels; size of a panel in pixels; settings and data, lines of the script; rows = { { label, panel ... }
-- ... } with panel = { title, lines }; left, across, down: pixels left of, between and below panels, for long names of
-- tics.
function M.script(picture)
  local columns = math.max(1, lists.most(picture.rows, function(row) return #row end))
  picture.left, picture.across, picture.down = picture.left or LEFT, picture.across or ACROSS, picture.down or DOWN
  picture.width = picture.left + RIGHT + columns * (picture.panel + picture.across) - picture.across
  picture.height = TOP + BOTTOM + #picture.rows * (picture.panel + picture.down) - DOWN
  local drawing = lists.append(lists.join({ PALETTE }, picture.settings), { label(picture, 1, picture.title, 20, 14),
    label(picture, 2, picture.note, 40, 10), "set multiplot" })
  draw(picture, drawing)
  drawing[#drawing + 1] = "unset multiplot"
  return M.twice(picture, drawing)
end

return M
