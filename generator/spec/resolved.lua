-- A resolved spec as text: the output of `check --print`.
--
-- Input: a resolved spec, its origins by path (validate.lua). Output: a line with the spec's id and source, then one
-- line per field that has a value, with the value and its origin.

local canonical = require("base.canonical")
local lists = require("base.lists")
local parameters = require("spec.score.score_parameters")
local schema = require("spec.schema")
local show = require("base.diagnostics").show

local M = {}

local function format_list(list)
  local words = lists.map(list, function(value) return type(value) == "table" and M.format_value(value) or value end)
  return "{ " .. table.concat(words, ", ") .. " }"
end

-- The text of a table of values by name. M.format_value would read an axis called `first` as the field of a range.
local function format_named(values)
  return format_list(lists.map(canonical.sort_keys(values), function(name)
    return ("%s = %s"):format(name, M.format_value(values[name]))
  end))
end

-- The text of a field's value as a spec states it.
function M.format_value(value)
  if type(value) ~= "table" then
    return show(value)
  elseif value.list then
    return "{ list = " .. format_list(value.list) .. " }"
  elseif value.first then
    local step = (value.step or 1) > 1 and ", step = " .. value.step or ""
    return ("{ %d, %d%s }"):format(value.first, value.last, step)
  end
  return #value > 0 and format_list(value) or format_named(value)
end

-- Type of a field -> the formatter of an entry, for fields that are tables whose entries the schema does not list: the
-- parameters of a score, the options of a task, the options of a network.
local ENTRY_FORMATTERS = { parameters = parameters.format, options = show, settings = show }

-- The origin of the field at a path. settle_encoding.lua may give a family a score of its own that the spec does not
-- state: its origin is the origin of the shared score.
local function find_origin(origins, path)
  local shared_path = path:gsub("^encoding%.%w+%.score$", "encoding.score")
  shared_path = shared_path:gsub("^encoding%.%w+%.(parameters%.)", "encoding.%1")
  return origins[path] or origins[shared_path] or "default"
end

local MAX_VALUE_WIDTH = 32 -- widest aligned column of values; origins after longer values are not aligned

function M.format(resolved, origins)
  local rows = {}
  local fields = lists.collect(schema.fields, function(field) -- a family's fields follow the family's table
    return lists.join({ field }, field.type == "table" and schema.copies[field.family] or {})
  end)
  for _, field in ipairs(fields) do
    local value = lists.get(resolved, field.path)
    local has_value = value or value == false and field.type == "boolean" and origins[field.path]
    if ENTRY_FORMATTERS[field.type] then
      for _, name in ipairs(canonical.sort_keys(value or {})) do
        local path = ("%s.%s"):format(field.path, name)
        rows[#rows + 1] = { path, ENTRY_FORMATTERS[field.type](value[name]), find_origin(origins, path) }
      end
    elseif field.type ~= "table" and has_value then
      local format = field.type == "by" and format_named or M.format_value
      rows[#rows + 1] = { field.path, field.type == "score" and value or format(value),
        find_origin(origins, field.path) }
    end
  end
  local path_width = lists.max(rows, function(row) return #row[1] end)
  local value_width = lists.max(rows, function(row) return math.min(#row[2], MAX_VALUE_WIDTH) end)
  local form = ("%%-%ds = %%-%ds  %%s"):format(path_width, value_width)
  local out = lists.map(rows, function(row) return form:format(table.unpack(row)) end)
  return ("%s (%s)\n%s\n"):format(resolved.id, resolved.source, table.concat(out, "\n"))
end

return M
