-- What the fields of an item of a report may be, by the kind of the field (items.lua).
--
-- Input: the study, the item, a field's value. Output: M.checks by kind: what is wrong with the value, what was
-- expected, a hint; nothing where it is right. With them what they share with items.lua.

local canonical = require("base.canonical")
local diagnostics = require("base.diagnostics")
local lists = require("base.lists")
local nearest = require("base.nearest")
local progress = require("lab.study.report.figures.progress")
local runs = require("lab.study.read.runs")
local study_module = require("lab.study.grid.study")
local views = require("lab.study.report.tables.views")

local M = {}

local keys = canonical.sorted_keys

local VALUES = { median = true, max = true, mean = true, hours = true }
local LARGEST = 1e9 -- of a number

-- Whether a value is a table whose keys are all names.
local function is_named(value)
  for name in pairs(type(value) == "table" and value or {}) do
    if type(name) ~= "string" then
      return false
    end
  end
  return type(value) == "table"
end

local function axis_of(study, name)
  for _, axis in ipairs(study.axes) do
    if axis.name == name then
      return axis
    end
  end
end

local function names_of(study)
  return lists.map(study.axes, function(axis) return axis.name end)
end

-- What is wrong with a name among some, and what was expected.
local function unknown(what, name, list)
  return ("%s: %s"):format(what, diagnostics.show(name)), "one of: " .. table.concat(list, ", "),
    nearest.hint(name, list, "%s")
end

local checks = {}

function checks.axis(study, _, value)
  if not axis_of(study, value) then
    return unknown("no axis of the study", value, names_of(study))
  end
end

function checks.numbers(study, item, value)
  local what, expected, hint = checks.axis(study, item, value)
  for _, name in ipairs(what and {} or axis_of(study, value).values) do
    if not views.number(name) then
      return ("the axis %s has the value %s"):format(value, diagnostics.show(name)), "values that are numbers"
    end
  end
  return what, expected, hint
end

function checks.value(_, _, value)
  if not VALUES[value] then
    return unknown("no value of a table", value, keys(VALUES))
  end
end

function checks.show(_, _, value)
  if value ~= "median" and value ~= "max" then
    return unknown("nothing to show", value, { "median", "max" })
  end
end

function checks.values(study, item, value)
  local axis = axis_of(study, item.axis or item.lines)
  if type(value) ~= "table" or #value == 0 and not study.scale then
    return "not a list of names", 'a list such as { "rand-rope", "rand-alibi" }'
  end
  for _, name in ipairs(value) do
    if axis and not lists.has(axis.values, name) then
      return unknown(("not on the axis %s"):format(axis.name), name, axis.values)
    end
  end
end

function checks.set(_, _, value)
  if not lists.has(study_module.SPLITS, value) then
    return unknown("no set", value, study_module.SPLITS)
  end
end

function checks.sets(_, item, value)
  local names = { runs.EPOCH, table.unpack(study_module.SPLITS) }
  names[#names + 1] = item.kind == "progress" and progress.LOSS or nil
  for _, name in ipairs(type(value) == "table" and value or {}) do
    if not lists.has(names, name) then
      return unknown("no set", name, names)
    end
  end
  if type(value) ~= "table" or #value == 0 then
    return "no list of sets", 'a list such as { "train", "test", "validation" }'
  end
end

-- Lengths, or numbers of another axis.
function checks.counts(_, _, value)
  for _, n in ipairs(type(value) == "table" and value or {}) do
    if math.type(n) ~= "integer" then
      return ("%s is no whole number"):format(diagnostics.show(n)), "whole numbers"
    end
  end
  if type(value) ~= "table" or #value == 0 then
    return "no list of numbers", "a list such as { 6, 10, 50 }"
  end
end

function checks.one(study, item, value)
  if not study.scale then
    return checks.values(study, item, { value })
  end
end

function checks.number(_, _, value)
  if type(value) ~= "number" or math.abs(value) > LARGEST or value ~= value then
    return ("%s is no number"):format(diagnostics.show(value)), "a number"
  end
end

function checks.percent(study, item, value)
  local what, expected = checks.number(study, item, value)
  if what then
    return what, expected
  elseif value <= 1 or value > 100 then
    return ("%s is no number of percent that a score reaches"):format(diagnostics.show(value)),
      "a number above 1, at most 100", value > 0 and value <= 1 and "percent, not a share" or nil
  end
end

-- A name below spec/published.
local function is_file(value)
  return type(value) == "string" and value:find("^%w[%w_/-]*$") ~= nil
end

local function is_text_or_absent(value)
  return value == nil or type(value) == "string"
end

function checks.published(_, _, value)
  local whole = type(value) == "table"
  if not is_file(whole and value.file or value) or whole and not (is_text_or_absent(value.of)
    and is_text_or_absent(value.against)) then
    return "no name of a file", 'a name such as "ruoss_2023/table1", or { file = ..., of = COLUMN, against = COLUMN }'
  end
end

function checks.names(study, _, value)
  local expected = "{ AXIS = { NAME = published name } }"
  if not is_named(value) then
    return "not a table of axes", expected
  end
  for _, name in ipairs(keys(value)) do
    if not axis_of(study, name) then
      return unknown("no axis of the study", name, names_of(study))
    elseif type(value[name]) ~= "table" then
      return ("%s is no table"):format(diagnostics.show(value[name])), expected
    end
  end
end

function checks.title(_, _, value)
  if type(value) ~= "string" then
    return ("%s is no text"):format(diagnostics.show(value)), "a text"
  end
end

function checks.setting(_, _, value)
  if not is_file(value) then
    return "no name of a file", 'a name such as "ruoss_2023/setting"'
  end
end

function checks.titles(_, _, value)
  if type(value) ~= "table" or type(value.of) ~= "string" or type(value.against) ~= "string" then
    return "not two titles", '{ of = "...", against = "..." }'
  end
end

M.checks, M.unknown, M.is_named, M.axis_of, M.names_of = checks, unknown, is_named, axis_of, names_of

return M
