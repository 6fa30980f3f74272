-- Checks the items of a study's `report`, and fills in their defaults.
--
-- Input: a study with axes and `report`, a list of items (docs/reports.md).
-- Output: a list of complete items; or nil, and a message that names the file and the invalid field. The field `pages`
-- of an item is a list of axes; the output has a copy of the item for each combination of their values.
-- The field `index` is the index of the item in `report`.

local canonical = require("base.canonical")
local diagnostics = require("base.diagnostics")
local item_checks = require("lab.study.report.item_checks")
local lists = require("base.lists")
local nodes = require("lab.study.grid.nodes")
local progress = require("lab.study.report.figures.progress")
local runs = require("lab.study.read.runs")
local score_tables = require("lab.study.report.tables.score_tables")

local M = {}

local keys = canonical.sort_keys
local checks, describe_unknown, is_record = item_checks.checks, item_checks.describe_unknown, item_checks.is_record
local find_axis = score_tables.find_axis

-- Kind of item -> field -> kind of the field. The kind of a field is the name of its check in item_checks.lua. A "?"
-- marks an optional field. Kinds of fields:
--   axis        the name of an axis of the study
--   numbers     the name of an axis of the study whose values are numbers
--   dimension   the name of an axis of the study or of evaluations
--   values      a list of names on the item's axis
--   none        the field is invalid in this kind of item, although COMMON has it
-- The names of the other kinds describe the value, such as "percent".
local KINDS = {
  table = { value = "value", rows = "axis", columns = "axis?", published = "published?", names = "names?" },
  best = { value = "value", rows = "axis", axis = "axis", of = "values", against = "values", titles = "titles?",
    published = "published?", names = "names?" },
  curves = { panels = "axis?", lines = "axis" },
  time = { lines = "axis", threshold = "percent?", slow = "choice", fast = "choice", published = "number?" },
  axis = { x = "numbers", lines = "axis?", show = "show?" },
  progress = { panels = "axis?", lines = "axis", splits = "sets?" },
  places = { lines = "axis", at = "counts" },
  heat = { rows = "dimension", columns = "dimension", panels = "axis?", width = "none?" },
  splits = { rows = "axis", splits = "sets", published = "published?", names = "names?" },
  spread = { rows = "axis", of = "axis" },
  reached = { rows = "axis", threshold = "percent", split = "set?" },
  numbers = { rows = "axis", at = "counts", published = "published?", names = "names?" },
  claim = { rows = "axis", at = "counts", bound = "bound", passes = "count?" },
}
-- Fields of items of every kind. find_problem itself checks the fields with an empty text.
local COMMON = { kind = "", where = "", pages = "", over = "", title = "title?", setting = "setting?", only = "only?",
  labels = "labels?", width = "width?" }
local AXES = { axis = true, numbers = true, dimension = true } -- kinds of fields that name an axis

-- Returns { [name of an axis] = the item's field that uses the axis }; or nil and the results of find_problem.
local function find_used_axes(study, item)
  local uses, used_by = {}, {}
  for _, field in ipairs(keys(KINDS[item.kind])) do
    local kind = KINDS[item.kind][field]:match("^%a+")
    if AXES[kind] and item[field] then
      uses[#uses + 1] = { field, item[field], kind == "dimension" }
    end
  end
  uses[#uses + 1] = item.over ~= nil and { "over", item.over } or nil
  if type(item.pages) ~= "table" then
    return nil, "pages", ("is %s"):format(diagnostics.show(item.pages)), "an axis, or a list of axes"
  end
  lists.append(uses, lists.map(item.pages, function(name) return { "pages", name } end))
  for _, use in ipairs(uses) do
    local field, name, may_be_of_evaluations = use[1], use[2], use[3]
    if not may_be_of_evaluations and not find_axis(study, name) then
      return nil, field, item_checks.describe_unknown_axis(study, name)
    elseif used_by[name] then
      return nil, field, ("the axis %s is used by `%s` already"):format(name, used_by[name]), "each axis in one place"
    end
    used_by[name] = field
  end
  return used_by
end

-- Checks `where`, which must choose a value of each axis that has several values and that no other field uses.
-- used_by: from find_used_axes. Returns the same results as find_problem.
local function check_where(study, item, used_by)
  local where = item.where or {}
  if not is_record(where) then
    return "where", ("is %s"):format(diagnostics.show(where)), "{ AXIS = one of its values }"
  end
  for _, name in ipairs(keys(where)) do
    local problem, expected, hint = item_checks.check_axis_values(study, name, { where[name] })
    if not problem and used_by[name] then
      problem, expected = ("the axis is used by `%s` already"):format(used_by[name]), "each axis in one place"
    end
    if problem then
      return "where." .. name, problem, expected, hint
    end
  end
  for _, axis in ipairs(study.axes) do
    if not used_by[axis.name] and not where[axis.name] and #axis.values > 1 then
      return "where", ("the axis %s has %d values, and no field of the item uses the axis"):format(axis.name,
        #axis.values), ("where = { %s = %q }, or another of its values; or pages = %q for all of them"):format(
        axis.name, axis.values[1], axis.name)
    end
  end
end

-- Returns the field at fault, the problem, the expected value and a hint or nil; nothing for a valid item.
local function find_problem(study, item)
  local fields = type(item) == "table" and KINDS[item.kind]
  if fields and not is_record(item) then
    return "1", "a value without a name", "name = value"
  elseif not fields then
    return "kind", describe_unknown("no such kind", type(item) == "table" and item.kind or item, keys(KINDS))
  end
  for _, name in ipairs(keys(item)) do
    if not fields[name] and not COMMON[name] then
      return name, describe_unknown(('no field of kind "%s"'):format(item.kind), name, keys(fields))
    end
  end
  for _, name in ipairs(lists.append(keys(fields), { "title", "setting", "only", "labels", "width" })) do
    local kind, optional = (fields[name] or COMMON[name]):match("^(%a+)(%??)$")
    if item[name] == nil and optional == "" then
      return name, "missing", ('kind "%s" needs it'):format(item.kind)
    elseif item[name] ~= nil then
      local problem, expected, hint, inner_field = checks[kind](study, item, item[name])
      if problem then
        return inner_field and ("%s.%s"):format(name, inner_field) or name, problem, expected, hint
      end
    end
  end
  local used_by, field, problem, expected, hint = find_used_axes(study, item)
  if not used_by then
    return field, problem, expected, hint
  end
  return check_where(study, item, used_by)
end

local function has_several(axis)
  return #axis.values > 1
end

-- Returns lengths for an item of kind "places": the longest training length and the longest evaluated length of a run.
-- nil if no run has accuracies by place.
local function choose_lengths_for_places(study)
  local run = lists.any(study.cells, function(cell)
    return lists.find(runs.get_chosen_runs(cell), function(run) return run.test and run.test.has_places end)
  end)
  return run and lists.drop_repeats(lists.map(runs.get_curve(run, study.scored.split), function(evaluation)
    return evaluation.split ~= "between" and evaluation.lengths[#evaluation.lengths] or nil
  end)) or nil
end

-- Returns the default items. First come tables over the first two axes with several values: a table of medians and, if
-- `max` is true, a table of the best scores. The other axes with several values are in `pages`. Then come curves by
-- length, by place, during training and along an axis of numbers.
local function make_defaults(study, max)
  local single_axes = lists.filter(study.axes, function(axis) return not has_several(axis) end)
  local order = lists.join(lists.filter(study.axes, has_several), single_axes)
  local is_chosen = lists.to_set({ order[1], order[2] })
  local table_axes = lists.filter(study.axes, function(axis) return is_chosen[axis] end)
  local pages = lists.map(study.axes, function(axis)
    return has_several(axis) and not is_chosen[axis] and axis.name or nil
  end)
  local rows, columns = table_axes[1].name, table_axes[2] and table_axes[2].name
  local function make_item(kind, fields)
    return lists.merge({ kind = kind, pages = pages }, fields)
  end
  local list = lists.map({ "median", max and "max" or nil }, function(value)
    return make_item("table", { value = value, rows = rows, columns = columns })
  end)
  list[#list + 1] = make_item("curves", { panels = columns and rows, lines = columns or rows })
  local lengths = choose_lengths_for_places(study)
  list[#list + 1] = lengths and make_item("places", { lines = columns or rows, at = lengths,
    pages = lists.join(columns and has_several(table_axes[1]) and { rows } or {}, pages) })
  for _, split in ipairs({ progress.LOSS, runs.EPOCH }) do
    list[#list + 1] = make_item("progress", { panels = columns and rows, lines = columns or rows,
      splits = { split } })
  end
  local numbers = lists.find(table_axes, function(axis)
    return has_several(axis) and not lists.find(axis.values, function(value) return not tonumber(value) end)
  end)
  local line_axis = lists.find(table_axes, function(axis) return axis ~= numbers end)
  list[#list + 1] = numbers and make_item("axis", { x = numbers.name, lines = line_axis and line_axis.name,
    show = max and "max" or nil })
  return list
end

-- Returns a name, or a table of names, as texts. A study may give names as numbers, but axes have names as texts.
local function name_values(value)
  if type(value) ~= "table" then
    return nodes.get_name(value)
  end
  local list = {}
  for key, item in pairs(value) do
    list[key] = nodes.get_name(item)
  end
  return list
end

-- Returns those of `names` that the axis has in the study's scale; in a study without a scale, all of `names`.
local function filter_scale(study, axis_name, names)
  local axis = study.scale and find_axis(study, axis_name)
  return axis and type(names) == "table" and lists.filter(names, function(name) return lists.has(axis.values, name) end)
    or names
end

-- Returns a copy of an item for the study's scale, with names as texts and `pages` as a list.
local function fit_item(study, item)
  if type(item) ~= "table" then
    return item
  end
  local fitted_item = lists.merge({ pages = {} }, item)
  for _, name in ipairs({ "where", "of", "against", "slow", "fast" }) do
    fitted_item[name] = name_values(item[name])
  end
  fitted_item.of = filter_scale(study, item.axis, fitted_item.of)
  fitted_item.against = filter_scale(study, item.axis, fitted_item.against)
  if is_record(item.only) then
    fitted_item.only = {}
    for name, values in pairs(item.only) do
      fitted_item.only[name] = filter_scale(study, name, name_values(values))
    end
  end
  fitted_item.pages = type(item.pages) == "string" and { item.pages } or fitted_item.pages
  return fitted_item
end

-- Returns a copy of the item for each combination of values of the axes in `pages`, with these values in its `where`.
local function make_pages(study, item)
  local list = { item }
  for _, name in ipairs(item.pages) do
    local values = item.only and item.only[name] or find_axis(study, name).values
    list = lists.collect(list, function(page)
      return lists.map(values, function(value)
        return lists.merge(page, { where = lists.merge(page.where or {}, { [name] = value }) })
      end)
    end)
  end
  return list
end

-- Checks and completes a study's items. max: whether default items show the best of all runs, too.
function M.check(study, max)
  local requested_items, complete_items = study.report or make_defaults(study, max), {}
  local list = lists.map(type(requested_items) == "table" and requested_items or {},
    function(item) return fit_item(study, item) end)
  if #list == 0 then
    return nil, study.path .. ": error: report: not a list of items\n  expected: a list such as { { kind = \"curves\", "
      .. 'lines = "encoding" } }'
  end
  for i, item in ipairs(list) do
    local field, problem, expected, hint = find_problem(study, item)
    if field then
      return nil, ("%s: error: report[%d].%s: %s\n  expected: %s"):format(study.path, i, field, problem, expected)
        .. (hint and "\n  hint: " .. hint or "")
    end
    for _, page in ipairs(make_pages(study, item)) do
      page.index = i
      complete_items[#complete_items + 1] = page
    end
  end
  return complete_items
end

return M
