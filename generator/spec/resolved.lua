-- A resolved spec as text: the output of `check --print`.
--
-- Input: a resolved spec, its origins by path (validate.lua). Output: one line per field with its value and the value's
-- origin.

local canonical = require("base.canonical")
local lists = require("base.lists")
local parameters = require("spec.score.score_parameters")
local schema = require("spec.schema")
local show = require("base.diagnostics").show

local M = {}

local value_text

local function list_text(list)
  local words = lists.map(list, function(value) return type(value) == "table" and value_text(value) or value end)
  return "{ " .. table.concat(words, ", ") .. " }"
end

local function by_text(by)
  return list_text(lists.map(canonical.sorted_keys(by), function(name)
    return ("%s = %s"):format(name, value_text(by[name]))
  end))
end

function value_text(value)
  if type(value) ~= "table" then
    return show(value)
  elseif value.list then
    return "{ list = " .. list_text(value.list) .. " }"
  elseif value.first then
    local step = value.step > 1 and ", step = " .. value.step or ""
    return ("{ %d, %d%s }"):format(value.first, value.last, step)
  end
  return #value > 0 and list_text(value) or by_text(value)
end

-- Printers of fields whose names users choose: parameters of a score, options of a task or a network.
local NAMED = { parameters = parameters.text, options = show, settings = show }

-- The fields in the order of printing; those of a family follow its table.
local function printed_fields()
  return lists.flat(schema.fields, function(field)
    return lists.join({ field }, schema.copies[field.family] or {})
  end)
end

function M.text(resolved, origins)
  local rows = {}
  for _, field in ipairs(printed_fields()) do
    local value = lists.at(resolved, field.path)
    if NAMED[field.type] then
      for _, name in ipairs(canonical.sorted_keys(value or {})) do
        local path = ("%s.%s"):format(field.path, name)
        rows[#rows + 1] = { path, NAMED[field.type](value[name]), origins[path] }
      end
    elseif field.type ~= "table" and value ~= nil and value ~= false or field.type == "boolean" and value == false
      and origins[field.path] then
      rows[#rows + 1] = { field.path, field.type == "score" and value or value_text(value),
        origins[field.path] or "default" }
    end
  end
  local widest_path = lists.most(rows, function(row) return #row[1] end)
  local widest_value = lists.most(rows, function(row) return math.min(#row[2], 32) end)
  local form = ("%%-%ds = %%-%ds  %%s"):format(widest_path, widest_value)
  local out = lists.map(rows, function(row) return form:format(table.unpack(row)) end)
  return ("%s (%s)\n%s\n"):format(resolved.id, resolved.source, table.concat(out, "\n"))
end

return M
