-- A resolved spec as text: what `check --print` prints.
--
-- Input: a resolved spec, its origins by path (validate.lua). Output: one line per field with its value and where that
-- comes from.

local canonical = require("base.canonical")
local lists = require("base.lists")
local parameters = require("spec.score.score_parameters")
local schema = require("spec.schema")
local show = require("base.diagnostics").show

local M = {}

local value_text

local function list_text(list)
  local words = {}
  for i, value in ipairs(list) do
    words[i] = type(value) == "table" and value_text(value) or value
  end
  return "{ " .. table.concat(words, ", ") .. " }"
end

-- What an evaluation goes by.
local function by_text(by)
  local words = {}
  for _, name in ipairs(canonical.sorted_keys(by)) do
    words[#words + 1] = ("%s = %s"):format(name, value_text(by[name]))
  end
  return list_text(words)
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

-- A line for each parameter of a score: `field` is their table.
local function parameter_rows(field, list, origins, rows)
  for _, name in ipairs(canonical.sorted_keys(list or {})) do
    local path = ("%s.%s"):format(field, name)
    rows[#rows + 1] = { path, parameters.text(list[name]), origins[path] }
  end
end

-- A line for each option of a task or a network: `field` is their table.
local function option_rows(field, chosen, origins, rows)
  for _, name in ipairs(canonical.sorted_keys(chosen or {})) do
    local path = ("%s.%s"):format(field, name)
    rows[#rows + 1] = { path, show(chosen[name]), origins[path] }
  end
end

-- All fields, those of a family where its table stands.
local function printed_fields()
  local list = {}
  for _, field in ipairs(schema.fields) do
    list[#list + 1] = field
    for _, own in ipairs(schema.copies[field.family] or {}) do
      list[#list + 1] = own
    end
  end
  return list
end

function M.text(resolved, origins)
  local rows, widest_path, widest_value = {}, 0, 0
  for _, field in ipairs(printed_fields()) do
    local value = lists.at(resolved, field.path)
    if field.type == "parameters" then
      parameter_rows(field.path, value, origins, rows)
    elseif field.type == "options" or field.type == "settings" then
      option_rows(field.path, value, origins, rows)
    elseif field.type ~= "table" and value ~= nil and value ~= false or field.type == "boolean" and value == false
      and origins[field.path] then
      rows[#rows + 1] = { field.path, field.type == "score" and value or value_text(value),
        origins[field.path] or "default" }
    end
  end
  for _, row in ipairs(rows) do
    widest_path = math.max(widest_path, #row[1])
    widest_value = math.max(widest_value, math.min(#row[2], 32))
  end
  local out = {}
  for i, row in ipairs(rows) do
    out[i] = ("%-" .. widest_path .. "s = %-" .. widest_value .. "s  %s"):format(row[1], row[2], row[3])
  end
  return ("%s (%s)\n%s\n"):format(resolved.id, resolved.source, table.concat(out, "\n"))
end

return M
