-- What a study's `report` lists: checks it, with its defaults filled in.
--
-- Input: a study with axes and `report`, a list of items. Output: a list of complete items; or nil and a message that
-- names the file and the field. docs/reports.md describes each kind.

local canonical = require("canonical")
local diagnostics = require("diagnostics")

local M = {}

local keys = canonical.sorted_keys

local VALUES = { max = true, mean = true, hours = true }

-- Fields per kind: "axis" names an axis, "axis?" may be left out, "values" are names on the item's axis.
local KINDS = {
  table = { value = "value", rows = "axis", columns = "axis", published = "published?", names = "names?" },
  best = { value = "value", rows = "axis", axis = "axis", of = "values", against = "values", titles = "titles?",
    published = "published?", names = "names?" },
  curves = { panels = "axis?", lines = "axis" },
  time = { lines = "axis", threshold = "number?", slow = "one", fast = "one", published = "number?" },
  axis = { x = "axis", lines = "axis?" },
}
local LARGEST = 1e9 -- of a number
local COMMON = { kind = true, title = true, where = true, setting = true }

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
  local names = {}
  for i, axis in ipairs(study.axes) do
    names[i] = axis.name
  end
  return names
end

local function has(list, value)
  for _, one in ipairs(list) do
    if one == value then
      return true
    end
  end
  return false
end

local function common(names, values)
  local list = {}
  for _, name in ipairs(names) do
    list[#list + 1] = has(values, name) and name or nil
  end
  return list
end

-- What is wrong with a name among some, and what was expected.
local function unknown(what, name, list)
  local near = type(name) == "string" and diagnostics.nearest(name, list)
  return ("%s: %s"):format(what, diagnostics.show(name)), "one of: " .. table.concat(list, ", "),
    near and ("did you mean %s?"):format(near)
end

local checks = {}

function checks.axis(study, _, value)
  if not axis_of(study, value) then
    return unknown("no axis of the study", value, names_of(study))
  end
end

function checks.value(_, _, value)
  if not VALUES[value] then
    return unknown("no value of a table", value, keys(VALUES))
  end
end

function checks.values(study, item, value)
  local axis = axis_of(study, item.axis or item.lines)
  if type(value) ~= "table" or #value == 0 and not study.scale then
    return "not a list of names", 'a list such as { "rand-rope", "rand-alibi" }'
  end
  for _, name in ipairs(value) do
    if axis and not has(axis.values, name) then
      return unknown(("not on the axis %s"):format(axis.name), name, axis.values)
    end
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

function checks.where(_, _, value)
  if not is_named(value) then
    return "not a table of axes", "{ AXIS = NAME }"
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

-- Every axis that the item does not spread out must have one value, or be fixed by `where`.
local function check_where(study, item)
  local where = item.where or {}
  for _, name in ipairs(keys(where)) do
    local axis = axis_of(study, name)
    if not axis then
      return "where." .. name, unknown("no axis of the study", name, names_of(study))
    elseif not has(axis.values, where[name]) then
      return "where." .. name, unknown("not on this axis", where[name], axis.values)
    end
  end
  for _, axis in ipairs(study.axes) do
    local spread = false
    for field, kind in pairs(KINDS[item.kind]) do
      spread = spread or kind:match("^axis") and item[field] == axis.name
    end
    if not spread and not where[axis.name] and #axis.values > 1 then
      return "where", ("the axis %s has %d values, and the item spreads none of them out"):format(axis.name,
        #axis.values), ("where = { %s = %q }, or another of its values"):format(axis.name, axis.values[1])
    end
  end
end

-- The field at fault, what is wrong, what was expected, a hint; nothing where the item is right.
local function problem_of(study, item)
  local fields = type(item) == "table" and KINDS[item.kind]
  if fields and not is_named(item) then
    return "1", "a value without a name", "name = value"
  elseif not fields then
    return "kind", unknown("no such kind", type(item) == "table" and item.kind or item, keys(KINDS))
  end
  for _, name in ipairs(keys(item)) do
    if not fields[name] and not COMMON[name] then
      return name, unknown(('no field of kind "%s"'):format(item.kind), name, keys(fields))
    end
  end
  for _, name in ipairs(keys(fields)) do
    local kind, optional = fields[name]:match("^(%a+)(%??)$")
    if item[name] == nil and optional == "" then
      return name, "missing", ('kind "%s" needs it'):format(item.kind)
    elseif item[name] ~= nil then
      local what, expected, hint = checks[kind](study, item, item[name])
      if what then
        return name, what, expected, hint
      end
    end
  end
  for _, name in ipairs({ "title", "where", "setting" }) do
    if item[name] ~= nil then
      local what, expected = checks[name](study, item, item[name])
      if what then
        return name, what, expected
      end
    end
  end
  return check_where(study, item)
end

-- Where a study says nothing: its first two axes as rows and columns, and curves.
local function defaults(study)
  local rows = study.axes[1].name
  local columns = (study.axes[2] or study.axes[1]).name
  local where = {}
  for i = 3, #study.axes do
    where[study.axes[i].name] = study.axes[i].values[1]
  end
  return {
    { kind = "table", value = "max", rows = rows, columns = columns, where = where },
    { kind = "table", value = "mean", rows = rows, columns = columns, where = where },
    { kind = "curves", panels = study.axes[2] and rows, lines = columns, where = where },
  }
end

-- A scale may leave values of an axis out: names that are not there then do not count.
local function fitting(study, list)
  local fitted = {}
  for i, item in ipairs(study.scale and type(list) == "table" and list or {}) do
    fitted[i] = {}
    for name, value in pairs(type(item) == "table" and item or {}) do
      local axis = (name == "of" or name == "against") and axis_of(study, item.axis)
      fitted[i][name] = axis and type(value) == "table" and common(value, axis.values) or value
    end
  end
  return study.scale and fitted or list
end

function M.check(study)
  local list = fitting(study, study.report or defaults(study))
  if type(list) ~= "table" or #list == 0 then
    return nil, study.path .. ": error: report: not a list of items\n  expected: a list such as { { kind = \"curves\", "
      .. 'lines = "encoding" } }'
  end
  for i, item in ipairs(list) do
    local field, what, expected, hint = problem_of(study, item)
    if field then
      return nil, ("%s: error: report[%d].%s: %s\n  expected: %s"):format(study.path, i, field, what, expected)
        .. (hint and "\n  hint: " .. hint or "")
    end
  end
  return list
end

return M
