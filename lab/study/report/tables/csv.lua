-- Fields and lines of CSV files.
--
-- Input: a value: a text, a truth value, an integer, a float, which gets nine digits, a list of texts or integers with
-- spaces between them, or nil, an empty field. Output: text.

local escape = require("base.escape")
local lists = require("base.lists")

local M = {}

function M.format_field(value)
  if type(value) == "table" then
    value = table.concat(value, " ")
  elseif math.type(value) == "float" then
    value = ("%.9g"):format(value)
  end
  return value == nil and "" or escape.csv(tostring(value))
end

function M.format_line(row, names)
  return table.concat(lists.map(names, function(name) return M.format_field(row[name]) end), ",")
end

return M
