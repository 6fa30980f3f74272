-- What a study's `report` lists: checks it, with its defaults filled in.
--
-- Input: a study with axes and `report`, a list of items. Output: a list of complete items; or nil and a message that
-- names the file and the field. docs/reports.md describes each kind.

local canonical = require("base.canonical")
local diagnostics = require("base.diagnostics")
local nodes = require("study.grid.nodes")
local study_module = require("study.grid.study")
local runs = require("study.read.runs")
local views = require("study.report.views")

local M = {}

local keys = canonical.sorted_keys

local VALUES = { max = true, mean = true, hours = true }

-- Fields per kind: "axis" names an axis, "axis?" may be left out, "numbers" an axis of numbers, "values" are names on
-- the item's axis.
local KINDS = {
  table = { value = "value", rows = "axis", columns = "axis?", published = "published?", names = "names?" },
  best = { value = "value", rows = "axis", axis = "axis", of = "values", against = "values", titles = "titles?",
    published = "published?", names = "names?" },
  curves = { panels = "axis?", lines = "axis" },
  time = { lines = "axis", threshold = "number?", slow = "one", fast = "one", published = "number?" },
  axis = { x = "numbers", lines = "axis?" },
  progress = { lines = "axis", splits = "sets?" },
  splits = { rows = "axis", splits = "sets", published = "published?", names = "names?" },
  spread = { rows = "axis", of = "axis" },
  numbers = { rows = "axis", at = "counts", published = "published?", names = "names?" },
}
local LARGEST = 1e9 -- of a number
local COMMON = { kind = true, title = true, where = true, pages = true, over = true, setting = true }
local AXES = { axis = true, numbers = true } -- kinds of fields that name one

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

function checks.sets(_, _, value)
  local names = { runs.EPOCH, table.unpack(study_module.SPLITS) }
  for _, name in ipairs(type(value) == "table" and value or {}) do
    if not has(names, name) then
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

-- What the item does with each axis: field by axis. Or nil, the field at fault, what is wrong and what was expected.
local function spread_of(study, item)
  local uses, spread = {}, {}
  for _, field in ipairs(keys(KINDS[item.kind])) do
    if AXES[KINDS[item.kind][field]:match("^%a+")] and item[field] then
      uses[#uses + 1] = { field, item[field] }
    end
  end
  uses[#uses + 1] = item.over ~= nil and { "over", item.over } or nil
  if type(item.pages) ~= "table" then
    return nil, "pages", ("is %s"):format(diagnostics.show(item.pages)), "an axis, or a list of axes"
  end
  for _, name in ipairs(item.pages) do
    uses[#uses + 1] = { "pages", name }
  end
  for _, use in ipairs(uses) do
    local field, name = use[1], use[2]
    if not axis_of(study, name) then
      return nil, field, unknown("no axis of the study", name, names_of(study))
    elseif spread[name] then
      return nil, field, ("the axis %s again, which is `%s`"):format(name, spread[name]), "each axis in one place"
    end
    spread[name] = field
  end
  return spread
end

-- Every axis that the item does not spread out must have one value, or be fixed by `where`.
local function check_where(study, item, spread)
  local where = item.where or {}
  if not is_named(where) then
    return "where", ("is %s"):format(diagnostics.show(where)), "{ AXIS = one of its values }"
  end
  for _, name in ipairs(keys(where)) do
    local axis = axis_of(study, name)
    if not axis then
      return "where." .. name, unknown("no axis of the study", name, names_of(study))
    elseif not has(axis.values, where[name]) then
      return "where." .. name, unknown("not on this axis", where[name], axis.values)
    elseif spread[name] then
      return "where." .. name, ("the axis is spread out by `%s`"):format(spread[name]), "each axis in one place"
    end
  end
  for _, axis in ipairs(study.axes) do
    if not spread[axis.name] and not where[axis.name] and #axis.values > 1 then
      return "where", ("the axis %s has %d values, and the item spreads none of them out"):format(axis.name,
        #axis.values), ("where = { %s = %q }, or another of its values; or pages = %q for all of them"):format(
        axis.name, axis.values[1], axis.name)
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
  for _, name in ipairs({ "title", "setting" }) do
    if item[name] ~= nil then
      local what, expected = checks[name](study, item, item[name])
      if what then
        return name, what, expected
      end
    end
  end
  local spread, at, what, expected, hint = spread_of(study, item)
  if not spread then
    return at, what, expected, hint
  end
  return check_where(study, item, spread)
end

-- Whether an axis has several values, and nothing but numbers.
local function are_numbers(axis)
  for _, value in ipairs(axis.values) do
    if not tonumber(value) then
      return false
    end
  end
  return #axis.values > 1
end

-- Where a study says nothing: two axes, if there are two of several values, as rows and columns; of the others a page
-- for every value. And curves, and the score along an axis of numbers.
local function defaults(study)
  local chosen, pages = {}, {}
  for _, several in ipairs({ true, false }) do
    for i, axis in ipairs(study.axes) do
      if #axis.values > 1 == several and #chosen < 2 then
        chosen[#chosen + 1] = i
      elseif #axis.values > 1 and several then
        pages[#pages + 1] = axis.name
      end
    end
  end
  table.sort(chosen)
  local rows, columns = study.axes[chosen[1]].name, chosen[2] and study.axes[chosen[2]].name
  local list = {
    { kind = "table", value = "max", rows = rows, columns = columns, pages = pages },
    { kind = "table", value = "mean", rows = rows, columns = columns, pages = pages },
    { kind = "curves", panels = columns and rows, lines = columns or rows, pages = pages },
  }
  for place, i in ipairs(chosen) do
    if #list == 3 and are_numbers(study.axes[i]) then
      local other = chosen[3 - place]
      list[4] = { kind = "axis", x = study.axes[i].name, lines = other and study.axes[other].name, pages = pages }
    end
  end
  return list
end

-- Names of values as the axes have them, which may be given as numbers.
local function named(value)
  if type(value) ~= "table" then
    return nodes.name_of(value)
  end
  local list = {}
  for key, one in pairs(value) do
    list[key] = nodes.name_of(one)
  end
  return list
end

local NAMED = { where = true, of = true, against = true, slow = true, fast = true }

-- The items with names as the axes have them. A scale may leave values of an axis out: those names then do not count.
local function fitting(study, list)
  local fitted = {}
  for i, item in ipairs(type(list) == "table" and list or {}) do
    fitted[i] = type(item) == "table" and { pages = {} } or item
    for name, value in pairs(type(item) == "table" and item or {}) do
      value = NAMED[name] and named(value) or value
      local axis = study.scale and (name == "of" or name == "against") and axis_of(study, item.axis)
      fitted[i][name] = axis and type(value) == "table" and common(value, axis.values) or value
    end
    if type(item) == "table" and type(item.pages) == "string" then
      fitted[i].pages = { item.pages }
    end
  end
  return fitted
end

-- An item for each value of the axes that are its pages.
local function pages_of(study, item)
  local list = { item }
  for _, name in ipairs(item.pages) do
    local longer = {}
    for _, page in ipairs(list) do
      for _, value in ipairs(axis_of(study, name).values) do
        longer[#longer + 1] = views.with(page, { where = views.with(page.where, { [name] = value }) })
      end
    end
    list = longer
  end
  return list
end

function M.check(study)
  local list, whole = fitting(study, study.report or defaults(study)), {}
  if #list == 0 then
    return nil, study.path .. ": error: report: not a list of items\n  expected: a list such as { { kind = \"curves\", "
      .. 'lines = "encoding" } }'
  end
  for i, item in ipairs(list) do
    local field, what, expected, hint = problem_of(study, item)
    if field then
      return nil, ("%s: error: report[%d].%s: %s\n  expected: %s"):format(study.path, i, field, what, expected)
        .. (hint and "\n  hint: " .. hint or "")
    end
    for _, page in ipairs(pages_of(study, item)) do
      page.place = i
      whole[#whole + 1] = page
    end
  end
  return whole
end

return M
