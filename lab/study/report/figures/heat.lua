-- Panels (panels.lua) that show a matrix by colours.
--
-- Input: a matrix: its values as a row-major list, with NaN for gaps; its number of rows. Output: a panel.

local escape = require("base.escape")
local gnuplot = require("lab.study.report.figures.gnuplot")
local lists = require("base.lists")
local scales = require("lab.study.report.figures.scales")

local M = {}

local NAN = 0 / 0
local MAX_TICS = 40 -- along an axis
local MAX_BOXES = 1000
local TIC_LETTER = 6 -- pixels: the width of a letter in the names of tics
local LIGHT = 0.6 -- colours from this share of the palette are light enough for dark text

local function make_image(values, columns)
  local words, lines = lists.map(values, function(value) return ("%.5g"):format(value) end), {}
  for first = 1, #words, columns do
    lines[#lines + 1] = table.concat(words, " ", first, first + columns - 1)
  end
  return { lines, "matrix with image" }
end

-- Makes a layer of boxes. Equal neighbours in a row share a box.
local function make_boxes(values, columns)
  local lines, first = {}, 1
  for i, value in ipairs(values) do
    if i % columns == 0 or values[i + 1] ~= value then
      lines[#lines + 1] = value == value and ("%g %d %g %.5g"):format(((first - 1) % columns + (i - 1) % columns) / 2,
        (i - 1) // columns, (i - first + 1) / 2, value) or nil
      first = i + 1
    end
  end
  return { lines, "using 1:2:3:(0.5):4 with boxxyerror fillstyle solid noborder lc palette" }
end

-- Returns the width of names in pixels, with a gap. letter_width: nil for the names of tics.
function M.measure_names(names, letter_width)
  return 24 + (letter_width or TIC_LETTER) * lists.max(names, function(name) return utf8.len(escape.plain(name)) end)
end

-- Returns names as tics of gnuplot at the numbers `first`, first + 1, ...
-- max_tics: the maximum number of tics, at equal distances; nil: each name has a tic.
function M.format_tics(names, first, max_tics)
  local step = math.ceil(#names / (max_tics or #names))
  return table.concat(lists.map(names, function(name, i)
    local format = name:gsub("%%", "%%%%") -- gnuplot reads the label of a tic as a format
    return (i - 1) % step == 0 and ("%s %d"):format(gnuplot.quote(format), first + i - 1) or nil
  end), ", ")
end

-- Returns a panel of a matrix.
--   rows    the number of rows
--   range   the numbers with the first and the last colour; nil: from -peak to peak, the largest absolute value, which
--           is added to the title
--   names   the names of rows and of columns, { rows, columns }, or nil
function M.draw(values, rows, title, range, names)
  local columns, low, high = #values // rows, scales.find_range({ values })
  local peak = math.max(1e-9, -low, high)
  local has_gaps = lists.find(values, function(value) return value ~= value end)
  local boxes = make_boxes(values, columns)
  -- An image is smaller than many boxes. But an image shows gaps in a colour, and viewers blur a small image.
  local layer = (has_gaps or #boxes[1] <= MAX_BOXES) and boxes or make_image(values, columns)
  return { title = range and title or ("%s, to %.2g"):format(title, peak), layers = { layer }, lines = {
    ("set xrange [-0.5:%g]\nset yrange [%g:-0.5]\nset cbrange [%.9g:%.9g]"):format(columns - 0.5, rows - 0.5,
      range and range[1] or -peak, range and range[2] or peak),
    "unset grid", names and ("set xtics rotate by 90 right (%s)\nset ytics (%s)"):format(
      M.format_tics(names.columns, 0, MAX_TICS), M.format_tics(names.rows, 0, MAX_TICS))
      or "set xtics norotate autofreq\nset ytics autofreq",
  } }
end

-- Returns a panel of weights, with colours from 0 to the largest weight, which is added to the title.
function M.draw_weights(values, rows, title)
  local _, peak = scales.find_range({ values })
  return M.draw(values, rows, ("%s, to %.2g"):format(title, peak), { 0, math.max(peak, 1e-9) })
end

-- Returns a panel of a matrix { rows, values }. Hidden keys, with the value -inf, are white.
-- The first colour is the colour of the least value if this value is negative, else the colour of 0.
function M.draw_matrix(title, matrix)
  local values = lists.map(matrix.values, function(value) return value > -math.huge and value or NAN end)
  local min_value, max_value = scales.find_range({ values })
  local from = math.min(min_value, 0)
  local to = max_value > from and max_value or from + 1
  local range = (from < 0 or max_value > 0) and (", %.2g to %.2g"):format(from, max_value) or ""
  return M.draw(values, matrix.rows, title .. range, { from, to })
end

-- Returns the panel of M.draw_matrix for the first `columns` cells of each row. A hidden key has the cell false.
function M.draw_cells(title, rows, columns)
  return M.draw_matrix(title, { rows = #rows, values = lists.collect(rows, function(row)
    return lists.map({ table.unpack(row, 1, columns) }, function(cell) return cell or -math.huge end)
  end) })
end

-- Writes the numbers into the squares of a panel from M.draw. form: the format of a number.
function M.add_numbers(panel, values, rows, range, form)
  local columns = #values // rows
  table.insert(panel.layers, { lists.map(values, function(value, i)
    local share = (value - range[1]) / (range[2] - range[1])
    return value == value and ("%d %d %s %d"):format((i - 1) % columns, (i - 1) // columns, form:format(value),
      share >= LIGHT and 0 or 0xffffff) or nil
  end), "using 1:2:3:4 with labels tc rgb variable font ',8'" })
end

-- Frames squares of a panel. is_framed: a row-major list with a boolean for each square.
function M.frame(panel, rows, columns, is_framed)
  local lines = {}
  local function is_inside(row, column)
    return row >= 0 and row < rows and column >= 0 and column < columns and is_framed[row * columns + column + 1]
  end
  for row = 0, rows - 1 do
    for column = 0, columns - 1 do
      for _, side in ipairs(is_inside(row, column) and { { -1, 0 }, { 1, 0 }, { 0, -1 }, { 0, 1 } } or {}) do
        local dx, dy = side[1], side[2]
        lines[#lines + 1] = not is_inside(row + dy, column + dx) and ("%g %g %g %g"):format(
          column + (dx == 0 and -0.5 or dx / 2), row + (dy == 0 and -0.5 or dy / 2), math.abs(dy), math.abs(dx)) or nil
      end
    end
  end
  -- A dark line on a wider light line is visible on every colour.
  for _, style in ipairs({ "lw 4 lc rgb 'white'", "lw 2 lc rgb 'black'" }) do
    table.insert(panel.layers, { lines, "using 1:2:3:4 with vectors nohead " .. style })
  end
end

local PLAIN, WRONG = "#222222", "#c0392b"
local CROSS = "\u{D7}"

local function format_label(text, position, offset, font, colour)
  return ("set label %s at %s offset %s font ',%d' textcolor rgb '%s' front"):format(gnuplot.quote(text),
    position, offset, font, colour)
end

-- Adds a symbol as the name of a row or of a column. A wrong symbol is red and has a cross.
local function add_symbol(lines, symbol, position, offsets, font)
  lines[#lines + 1] = format_label(symbol.text, position, offsets[1], font, symbol.is_wrong and WRONG or PLAIN)
  lines[#lines + 1] = symbol.is_wrong and format_label(CROSS, position, offsets[2], font, WRONG) or nil
end

-- Names the rows and columns of a panel by symbols { text, is_wrong } instead of numbers.
--   sides.writes   for each row, the symbol that the model writes at this query
--   sides.reads    for each column, the symbol that the model reads at this key
function M.add_symbols(panel, sides, font)
  table.insert(panel.lines, "unset xtics\nunset ytics")
  for i, symbol in ipairs(sides.writes) do
    add_symbol(panel.lines, symbol, ("graph 0,first %d right"):format(i - 1), { "-0.7,0", "-2.1,0" }, font)
  end
  for j, symbol in ipairs(sides.reads) do
    add_symbol(panel.lines, symbol, ("first %d,graph 0 center"):format(j - 1), { "0,-0.5", "0,-1.1" }, font)
  end
  return panel
end

return M
