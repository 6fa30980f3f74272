-- Checks of the fields of an item of a report, by the kind of the field (items.lua).
--
-- Input: the study, the item, a field's value. Output of M.checks[kind]: nothing for a valid value; else the problem
-- with the value, the expected value, a hint or nil, and the name of the invalid field within the value or nil.

local canonical = require("base.canonical")
local diagnostics = require("base.diagnostics")
local evaluations = require("lab.study.read.evaluations")
local lists = require("base.lists")
local similar_names = require("base.similar_names")
local progress = require("lab.study.report.figures.progress")
local runs = require("lab.study.read.runs")
local study_module = require("lab.study.grid.study")
local score_tables = require("lab.study.report.tables.score_tables")

local M = {}

local keys, find_axis = canonical.sort_keys, score_tables.find_axis

local MAX_NUMBER = 1e9 -- absolute value

-- Whether a value is a table whose fields all have names.
local function is_record(value)
  for name in pairs(type(value) == "table" and value or {}) do
    if type(name) ~= "string" then
      return false
    end
  end
  return type(value) == "table"
end

-- Returns a problem with a name that is not in a list, what is expected, and a hint or nil.
local function describe_unknown(problem, name, known_names)
  return ("%s: %s"):format(problem, diagnostics.show(name)), "one of: " .. table.concat(known_names, ", "),
    similar_names.make_hint(name, known_names, "%s")
end

local function describe_unknown_axis(study, name)
  return describe_unknown("not an axis of the study", name, lists.get_names(study.axes))
end

-- Makes a check that a value is in the list `known_names`. problem: the text of the problem, such as "not a set".
local function make_word_check(problem, known_names)
  return function(_, _, value)
    if not lists.has(known_names, value) then
      return describe_unknown(problem, value, known_names)
    end
  end
end

-- Makes a check that is_valid(value) is true. problem: the text of the problem, in which %s stands for the value.
local function make_form_check(is_valid, problem, expected)
  return function(_, _, value)
    if not is_valid(value) then
      return problem:gsub("%%s", function() return diagnostics.show(value) end), expected
    end
  end
end

local checks = { value = make_word_check("not a number that a table can show", { "hours", "max", "mean", "median" }),
  show = make_word_check("not a value to show", { "median", "max" }),
  set = make_word_check("not a set", study_module.SPLITS) }

-- Makes a check of a list, in which check(study, item, value) checks each value. may_be_empty: whether the list may be
-- empty if the study has a scale (a smaller version of the study), since a scale leaves out values of axes.
local function make_list_check(check, list_problem, expected, may_be_empty)
  return function(study, item, value)
    for _, item_value in ipairs(type(value) == "table" and value or {}) do
      local problem, expected_value, hint = check(study, item, item_value)
      if problem then
        return problem, expected_value, hint
      end
    end
    if type(value) ~= "table" or #value == 0 and not (may_be_empty and study.scale) then
      return list_problem, expected
    end
  end
end

function checks.axis(study, _, value)
  if not find_axis(study, value) then
    return describe_unknown_axis(study, value)
  end
end

function checks.none()
  return "is not a field of this kind", "no such field"
end

-- Returns the names of the axes of all evaluations of a study's runs.
local function list_evaluation_axes(study)
  local names = {}
  for _, run in lists.iterate_nested(study.cells, "runs") do
    for _, split in ipairs(run.test and evaluations.SPLITS or {}) do
      names[#names + 1] = run[split] and run.axis or nil
      for _, condition in ipairs(run[split] and run[split].conditions or {}) do
        lists.append(names, keys(condition.by))
      end
    end
  end
  return lists.drop_repeats(names)
end

-- Checks the name of an axis of the study or of its evaluations. Any text is valid before the first evaluation, when
-- the axes of evaluations are unknown.
function checks.dimension(study, _, value)
  local evaluation_axes = list_evaluation_axes(study)
  local names = lists.drop_repeats(lists.join(lists.get_names(study.axes), evaluation_axes))
  if not lists.has(names, value) and (evaluation_axes[1] or type(value) ~= "string") then
    return describe_unknown("not an axis of the study or of its evaluations", value, names)
  end
end

function checks.numbers(study, item, value)
  local problem, expected, hint = checks.axis(study, item, value)
  local name = not problem and lists.find(find_axis(study, value).values, function(name_on_axis)
    return not score_tables.parse_number(name_on_axis)
  end)
  if name then
    return ("the axis %s has the value %s"):format(value, diagnostics.show(name)), "values that are numbers"
  end
  return problem, expected, hint
end

-- Checks that a name is a value of the axis that the item's field `axis` or `lines` names.
local function check_name(study, item, name)
  local axis = find_axis(study, item.axis or item.lines)
  if axis and not lists.has(axis.values, name) then
    return describe_unknown(("not on the axis %s"):format(axis.name), name, axis.values)
  end
end

checks.values = make_list_check(check_name, "not a list of names", 'a list such as { "rand-rope", "rand-alibi" }', true)
checks.sets = make_list_check(function(_, item, name)
  local names = lists.join({ runs.EPOCH }, study_module.SPLITS)
  names[#names + 1] = item.kind == "progress" and progress.LOSS or nil
  return make_word_check("not a set", names)(nil, nil, name)
end, "not a list of sets", 'a list such as { "train", "test", "validation" }')
checks.count = make_form_check(function(n) return math.type(n) == "integer" end, "%s is not a whole number",
  "whole numbers")
checks.counts = make_list_check(checks.count, "not a list of numbers", "a list such as { 6, 10, 50 }")

-- Checks one name on the item's axis. With a scale, any name is valid, since the scale may leave out this name.
function checks.choice(study, item, value)
  if not study.scale then
    return check_name(study, item, value)
  end
end

checks.number = make_form_check(function(value)
  return type(value) == "number" and math.abs(value) <= MAX_NUMBER
end, "%s is not a number", "a number")

function checks.percent(study, item, value)
  local problem, expected = checks.number(study, item, value)
  if problem then
    return problem, expected
  elseif value <= 1 or value > 100 then
    return ("%s is not a percentage that a score can reach"):format(diagnostics.show(value)),
      "a number above 1, at most 100", value > 0 and value <= 1 and "write percent, not a share" or nil
  end
end

function checks.bound(study, item, value)
  local name = is_record(value) and next(value)
  if not name or next(value, name) or name ~= "above" and name ~= "below" then
    return ("is %s"):format(diagnostics.show(value)), "{ above = 90 } or { below = 50 }"
  end
  return checks.number(study, item, value[name])
end

checks.width = make_form_check(function(value)
  return type(value) == "number" and value >= 40 and value <= 400
end, "%s is not a width of a figure", "millimetres from 40 to 400, such as 85 for a column of a page with two columns")

function checks.labels(study, _, value)
  if not is_record(value) then
    return "not a table of names to show", '{ none = "NoPE" }'
  end
  for _, name in ipairs(keys(value)) do
    if type(value[name]) ~= "string" or not value[name]:find("%S") then
      return ("%s is not a text"):format(diagnostics.show(value[name])), "a text to show", nil, name
    elseif not study.scale and not lists.find(study.axes, function(axis) return lists.has(axis.values, name) end) then
      local values = lists.collect(study.axes, function(axis) return axis.values end)
      local problem, expected, hint = describe_unknown("not a value of an axis", name, lists.drop_repeats(values))
      return problem, expected, hint, name
    end
  end
end

local function is_file(value)
  return type(value) == "string" and value:find("^%w[%w_/-]*$") ~= nil
end

checks.published = make_form_check(function(value)
  return is_file(value) or type(value) == "table" and is_file(value.file) and type(value.of or "") == "string"
    and type(value.against or "") == "string"
end, "not a name of a file", 'a name such as "ruoss_2023/table1", or { file = ..., of = COLUMN, against = COLUMN }')

function checks.names(study, _, value)
  local expected = "{ AXIS = { NAME = published name } }"
  if not is_record(value) then
    return "not a table of axes", expected
  end
  for _, name in ipairs(keys(value)) do
    if not find_axis(study, name) then
      return describe_unknown_axis(study, name)
    elseif type(value[name]) ~= "table" then
      return ("%s is not a table"):format(diagnostics.show(value[name])), expected
    end
  end
end

checks.title = make_form_check(function(value) return type(value) == "string" end, "%s is not a text", "a text")
checks.setting = make_form_check(is_file, "not a name of a file", 'a name such as "ruoss_2023/setting"')
checks.titles = make_form_check(function(value)
  return type(value) == "table" and type(value.of) == "string" and type(value.against) == "string"
end, "not two titles", '{ of = "...", against = "..." }')

-- Checks that `values` is a list of values of the axis `name`. Returns the same results as a function in M.checks.
function M.check_axis_values(study, name, values)
  local axis = find_axis(study, name)
  if not axis then
    return describe_unknown_axis(study, name)
  end
  local check = make_word_check("not on this axis", axis.values)
  return make_list_check(check, "not a list of names", "names of its values", true)(study, nil, values)
end

function checks.only(study, _, values_by_axis)
  if not is_record(values_by_axis) then
    return ("is %s"):format(diagnostics.show(values_by_axis)), "{ AXIS = { names of its values } }"
  end
  for _, name in ipairs(keys(values_by_axis)) do
    local problem, expected, hint = M.check_axis_values(study, name, values_by_axis[name])
    if problem then
      return problem, expected, hint, name
    end
  end
end

M.checks, M.is_record = checks, is_record
M.describe_unknown, M.describe_unknown_axis = describe_unknown, describe_unknown_axis

return M
