-- Panels (panels.lua) that show a matrix by colours.
--
-- Input: lines of data to add a block to, its name (letters and digits), the matrix as a flat list, row-major, its
-- number of rows. Output: a panel; nothing is run here.

local M = {}

M.SETTINGS = {
  "unset key", "unset colorbox", "set border 15 lw 0.6 lc rgb '#444444'",
  "set tics out scale 0.4 nomirror font ',8' textcolor rgb '#444444'", "set xtics autofreq offset 0,0.4",
  "set ytics autofreq offset 0.6,0",
}

local function block(data, name, values, rows)
  local columns, lines = #values // rows, { ("$%s << EOD"):format(name) }
  for row = 0, rows - 1 do
    local words = {}
    for column = 1, columns do
      words[column] = ("%.5g"):format(values[row * columns + column])
    end
    lines[#lines + 1] = table.concat(words, " ")
  end
  lines[#lines + 1] = "EOD"
  data[#data + 1] = table.concat(lines, "\n")
  return columns
end

-- range: { from, to } of the colours; absent: from minus to plus the largest, which the title tells.
function M.panel(data, name, values, rows, title, range)
  local columns, peak = block(data, name, values, rows), 1e-9
  for _, value in ipairs(values) do
    peak = math.max(peak, math.abs(value))
  end
  return { title = range and title or ("%s, to %.2g"):format(title, peak), lines = {
    ("set xrange [-0.5:%g]\nset yrange [%g:-0.5]\nset cbrange [%.9g:%.9g]"):format(columns - 0.5, rows - 0.5,
      range and range[1] or -peak, range and range[2] or peak),
    "set xtics autofreq\nset ytics autofreq\nunset grid",
    ("plot $%s matrix with image"):format(name),
  } }
end

return M
