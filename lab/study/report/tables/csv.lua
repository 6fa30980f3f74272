-- Fields and lines of CSV files.
--
-- Input: values. Output: text. A float gets nine digits; a list of texts or integers becomes one field with spaces
-- between them; nil becomes an empty field.

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
