-- Conditions on runs, such as encoding=rope,steps>=1000.
--
-- Input: runs as rows (rows.lua); a text of conditions with commas between them, or nil. Output: the rows that meet all
-- conditions; or nil and a message. A condition is FIELD OPERATOR VALUE. FIELD is a field of a row, or of the run's
-- spec, such as train.batch. With = and !=, a * in VALUE stands for any characters. <, <=, > and >= compare numbers, or
-- times as texts.

local lists = require("base.lists")
local similar_names = require("base.similar_names")
local rows = require("lab.runs.rows")
local schema = require("spec.schema")

local M = {}

local EXPECTED = "FIELD=VALUE, with =, !=, <, <=, > or >=, such as encoding=rope,steps>=1000"
local TIMES = { started = true, ended = true }

local comparisons = {
  ["<"] = function(a, b) return a < b end, ["<="] = function(a, b) return a <= b end,
  [">"] = function(a, b) return a > b end, [">="] = function(a, b) return a >= b end,
}

local function get_value(row, field)
  local value = row[field]
  if value == nil and field:find(".", 1, true) then
    value = lists.get(row.run.facts.spec, field)
  end
  return value
end

-- Makes a function that decides whether a value matches a text, where * stands for any characters, or equals the number
-- that the text contains.
local function make_equality(text)
  local number, pattern = tonumber(text), "^" .. text:gsub("[^%w*]", "%%%0"):gsub("%*", ".*") .. "$"
  return function(value)
    return number ~= nil and tonumber(value) == number or tostring(value):find(pattern) ~= nil
  end
end

-- Makes a function that decides whether a value (nil: unknown) meets the condition; nil and a message for an invalid
-- condition.
local function make_test(field, sign, text)
  local equals, number = make_equality(text), tonumber(text)
  if sign == "=" then
    return function(value) return value ~= nil and equals(value) end
  elseif sign == "!=" then
    return function(value) return value == nil or not equals(value) end
  elseif TIMES[field] then
    return function(value) return value ~= nil and comparisons[sign](value, text) end
  elseif not number then
    return nil, ("%s%s%s: found %q; expected a number"):format(field, sign, text, text)
  end
  return function(value) return tonumber(value) ~= nil and comparisons[sign](tonumber(value), number) end
end

-- Makes a function that decides whether a row meets a condition; nil and a message for an invalid condition.
local function parse_condition(text)
  local field, sign, value = text:match("^%s*([%a_][%w_.]*)%s*([<>!=]=?)%s*(.-)%s*$")
  if not field or sign == "==" or sign == "!" or value == "" then
    return nil, ("%q: expected %s"):format(text, EXPECTED)
  elseif not lists.has(rows.FIELDS, field) and not schema.by_path[field] then
    local names = lists.join(rows.FIELDS,
      lists.map(schema.fields, function(field_of_spec) return field_of_spec.path end))
    local suggestion = similar_names.find(field, names)
    return nil, ("%s: runs have no such field; %s"):format(field, suggestion and ("did you mean %s?"):format(suggestion)
      or "expected " .. table.concat(rows.FIELDS, ", ") .. ", or a field of a spec such as train.batch")
  end
  local meets_condition, message = make_test(field, sign, value)
  return meets_condition and function(row) return meets_condition(get_value(row, field)) end, message
end

-- Returns the rows of a list that meet all conditions of a text. text: nil for no conditions, which all rows meet.
function M.select(list, text)
  for condition in ((text or "") .. ","):gmatch("([^,]*),") do
    if condition:find("%S") or text and text ~= "" then -- a blank condition among others is invalid
      local meets_condition, message = parse_condition(condition)
      if not meets_condition then
        return nil, "--where " .. message
      end
      list = lists.filter(list, meets_condition)
    end
  end
  return list
end

return M
