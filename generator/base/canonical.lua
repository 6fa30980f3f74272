-- A canonical text for a value: JSON with sorted keys, so that digests and comparisons do not depend on table order.
--
-- Input: booleans, strings, integers, finite floats, lists, tables with string keys; or nil. Output: one line; "{}" for
-- an empty table or list, "nil" for nil. Floats print with 15 digits, or 17 if 15 lose bits. Floats with an integer
-- value print as integers, so 2e6 and 2000000 have the same text.

local lists = require("base.lists")
local escape = require("base.escape")

local M = {}

local function format_number(x)
  local integer = math.tointeger(x)
  if integer then
    return tostring(integer)
  end
  local short_text = string.format("%.15g", x)
  return tonumber(short_text) == x and short_text or string.format("%.17g", x)
end

function M.sort_keys(t)
  local keys = {}
  for key in pairs(t) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  return keys
end

-- The keys of two tables, each once, sorted.
function M.merge_keys(a, b)
  local keys = lists.drop_repeats(lists.join(M.sort_keys(a), M.sort_keys(b)))
  table.sort(keys)
  return keys
end

function M.format(value)
  local kind = type(value)
  if kind == "number" then
    return format_number(value)
  elseif kind == "string" then
    return escape.json(value)
  elseif kind ~= "table" then
    return tostring(value)
  elseif #value > 0 then
    return "[" .. table.concat(lists.map(value, M.format), ",") .. "]"
  end
  return "{" .. table.concat(lists.map(M.sort_keys(value), function(key)
    return escape.json(key) .. ":" .. M.format(value[key])
  end), ",") .. "}"
end

return M
