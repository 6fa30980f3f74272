-- C literals: numbers, and text in lines of at most 100 characters, counted with escapes.
--
-- Input: a number, names or a text. Output: for a number, its literal, or nil and a message; for names or a text, a
-- list of lines.

local lists = require("base.lists")
local escape = require("base.escape")
local wording = require("base.wording")

local M = {}

local COLUMNS = 100

-- A C literal of a finite number, with a point or an exponent. It has as many digits as are needed to get the same
-- value of the type, but at least min_digits.
--   min_digits   the number of significant decimal digits that the type preserves
--   pack         the type's letter in formats of string.pack
--   suffix       the end of the type's literals
--   max_value    the type's largest value
local function format_number(value, min_digits, pack, suffix, max_value)
  if math.type(value) == nil then
    return nil, ("a number is needed, not %s"):format(type(value))
  elseif value ~= value or math.abs(value) > max_value then
    return nil, ("%s has no literal of this type"):format(value)
  end
  local text
  local digits = min_digits
  repeat
    text = ("%." .. digits .. "g"):format(value)
    text = text:find("[.e]") and text or text .. ".0"
    digits = digits + 1
  until pack:pack(tonumber(text)) == pack:pack(value)
  return text .. suffix
end

function M.f32(value)
  return format_number(value, 6, "f", "f", 3.4028234663852886e38)
end

function M.f64(value)
  return format_number(value, 15, "d", "", 1.7976931348623157e308)
end

-- Names in quotes, separated by commas.
function M.quote(names)
  return wording.fill_lines(lists.map(names, function(name, i)
    return ('"%s"%s'):format(escape.c_string(name), i < #names and "," or "")
  end), COLUMNS)
end

-- One text split into pieces, without the quotes around each piece.
function M.split_text(text)
  local lines, line = {}, ""
  local literal, first = escape.c_string(text), 1
  while first <= #literal do
    local piece = literal:match("^\\%d%d%d", first) or literal:match("^\\.", first) or literal:sub(first, first)
    if #line + #piece > COLUMNS then
      lines[#lines + 1] = line
      line = ""
    end
    line, first = line .. piece, first + #piece
  end
  lines[#lines + 1] = line
  return lines
end

return M
