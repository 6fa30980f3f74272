-- gnuplot's language, for all pictures: a script that draws a picture as SVG, PDF and PNG.
--
-- Input: the picture's name, its size in pixels of the SVG, blocks of data, lines that draw. Output: text; draw.lua
-- runs it. All texts of a picture are plain, without gnuplot's markup.

local escape = require("base.escape")
local lists = require("base.lists")

local M = {}

M.quote = escape.gnuplot

M.TEXT_WIDTH = 121 -- millimetres, of the text of LaTeX's class article, which has 345 points

-- Returns the pixels of millimetres, at 96 pixels per inch.
function M.to_pixels(millimetres)
  return millimetres / 25.4 * 96
end

-- Terminals { ending, command, scale }: the ending of their files; the command that selects the terminal; and the
-- factor from pixels of the SVG to the unit of sizes in the command, which is centimetres for a PDF and else pixels.
M.TERMINALS = {
  { "svg", "set terminal svg noenhanced size %.0f,%.0f dynamic font 'Helvetica,%d' background rgb 'white'", 1 },
  { "pdf", "set terminal pdfcairo noenhanced size %.2fcm,%.2fcm font 'Helvetica,%d' fontscale %.4f linewidth %.4f "
    .. "pointscale %.4f", 2.54 / 96 },
  { "png", "set terminal pngcairo noenhanced size %.0f,%.0f font 'Helvetica,%d' fontscale 1.5 linewidth 2 pointscale 2",
    2 },
}

function M.format_number(value)
  return ("%.6g"):format(value)
end

function M.make_block(name, lines)
  return ("$%s << EOD\n%s\nEOD"):format(name, table.concat(lines, "\n"))
end

-- Returns the script that writes a drawing to <name>.svg, .pdf and .png in its working folder. drawing: gnuplot's lines
-- that draw it. Fields of picture:
--   name            of the files, without ending
--   width, height   in pixels of the SVG
--   font            the size of the font; nil: 12
--   max_width       pixels to which a wider PDF is scaled down, or nil
--   data            lines of the script that define the data, or nil
function M.make_script(picture, drawing)
  local scale = math.min(1, (picture.max_width or picture.width) / picture.width)
  local parts = lists.join({ "set encoding utf8" }, picture.data or {})
  for _, terminal in ipairs(M.TERMINALS) do
    local ending, text, unit = table.unpack(terminal)
    local size = ending == "pdf" and unit * scale or unit
    parts[#parts + 1] = text:format(size * picture.width, size * picture.height, picture.font or 12, 0.75 * scale,
      0.75 * scale, 0.75 * scale)
    parts[#parts + 1] = ("set output %s"):format(M.quote(picture.name .. "." .. ending))
    lists.append(parts, drawing)
    parts[#parts + 1] = "unset output\nreset"
  end
  return table.concat(parts, "\n") .. "\n"
end

return M
