-- Panels (panels.lua) that show a matrix by colours.
--
-- Input: lines of data, to which a block is added; the name of the block (letters and digits); the matrix as a flat
-- list, row-major, NaN for gaps, and its number of rows. Output: a panel; gnuplot is not run here.

local gnuplot = require("lab.study.report.figures.gnuplot")
local lists = require("base.lists")
local panels = require("lab.study.analyze.pictures.panels")

local M = {}

M.SETTINGS = {
  "unset key", "unset colorbox", "set border 15 lw 0.6 lc rgb '#444444'",
  "set tics out scale 0.4 nomirror font ',8' textcolor rgb '#444444'", "set xtics autofreq offset 0,0.4",
  "set ytics autofreq offset 0.6,0",
}

-- Draws a matrix without gaps as an image.
local function image(data, name, values, rows, columns)
  local lines, words = {}, lists.map(values, function(value) return ("%.5g"):format(value) end)
  for row = 1, rows do
    lines[row] = table.concat(words, " ", (row - 1) * columns + 1, row * columns)
  end
  panels.add_block(data, name, lines)
  return ("plot $%s matrix with image"):format(name)
end

-- Draws a matrix with gaps as a box for each number.
local function boxes(data, name, values, columns)
  local lines = lists.map(values, function(value, i)
    return value == value and ("%d %d %.5g"):format((i - 1) % columns, (i - 1) // columns, value) or nil
  end)
  if #lines == 0 then
    return "plot NaN"
  end
  panels.add_block(data, name, lines)
  return ("plot $%s using 1:2:(0.5):(0.5):3 with boxxyerror fillstyle solid noborder lc palette"):format(name)
end

-- Returns names as consecutive tics from `first` on; gnuplot reads the label of a tic as a format.
function M.tics(names, first)
  return table.concat(lists.map(names, function(name, i)
    return ("%s %d"):format(gnuplot.quote((name:gsub("%%", "%%%%"))), first + i - 1)
  end), ", ")
end

-- Returns the lines that set tics with names on both axes.
local function named(names)
  local list = M.tics(names, 0)
  return ("set xtics rotate by 90 right (%s)\nset ytics (%s)"):format(list, list)
end

-- range: { from, to } of the colours; nil: from minus to plus the largest value, which the title states. names: the
-- common names of rows and columns, or nil.
function M.panel(data, name, values, rows, title, range, names)
  local columns, peak, whole = #values // rows, 1e-9, true
  for _, value in ipairs(values) do
    peak, whole = math.max(peak, math.abs(value)), whole and value == value
  end
  return { title = range and title or ("%s, to %.2g"):format(title, peak), lines = {
    ("set xrange [-0.5:%g]\nset yrange [%g:-0.5]\nset cbrange [%.9g:%.9g]"):format(columns - 0.5, rows - 0.5,
      range and range[1] or -peak, range and range[2] or peak),
    "unset grid", names and named(names) or "set xtics norotate autofreq\nset ytics autofreq",
    whole and image(data, name, values, rows, columns) or boxes(data, name, values, columns),
  } }
end

local NAN = 0 / 0

-- Returns a panel of a matrix { rows, columns, values }. Closed cells, which are -inf, stay white; the title states the
-- least and the largest value of open cells.
function M.open_cells(data, name, title, matrix)
  local values, least, largest = {}, math.huge, -math.huge
  for i, value in ipairs(matrix.values) do
    local open = value > -math.huge
    values[i] = open and value or NAN
    least, largest = open and math.min(least, value) or least, open and math.max(largest, value) or largest
  end
  local from = math.min(least, 0)
  local to = largest > from and largest or from + 1
  return M.panel(data, name, values, matrix.rows, ("%s, %.2g to %.2g"):format(title, from, largest), { from, to })
end

local PLAIN, WRONG = "#222222", "#c0392b"
local CROSS = "\u{D7}"

local function label(text, place, offset, font, colour)
  return ("set label %s at %s offset %s font ',%d' textcolor rgb '%s' front"):format(gnuplot.quote(text),
    place, offset, font, colour)
end

-- Adds a symbol next to a row or below a column and, farther out, a cross if the symbol is wrong.
local function add_symbol(lines, symbol, place, offsets, font)
  lines[#lines + 1] = label(symbol.text, place, offsets[1], font, symbol.wrong and WRONG or PLAIN)
  lines[#lines + 1] = symbol.wrong and label(CROSS, place, offsets[2], font, WRONG) or nil
end

-- Replaces the numbers on a panel's axes by symbols: sides = { writes, reads }, lists of { text, wrong } for rows and
-- for columns. A wrong symbol is red and has a cross.
function M.letter(panel, sides, font)
  local lines = { "unset xtics\nunset ytics" }
  for i, symbol in ipairs(sides.writes) do
    add_symbol(lines, symbol, ("graph 0,first %d right"):format(i - 1), { "-0.7,0", "-2.1,0" }, font)
  end
  for j, symbol in ipairs(sides.reads) do
    add_symbol(lines, symbol, ("first %d,graph 0 center"):format(j - 1), { "0,-0.5", "0,-1.1" }, font)
  end
  lists.append(lines, { table.remove(panel.lines), "unset label" })
  lists.append(panel.lines, lines)
  return panel
end

return M
