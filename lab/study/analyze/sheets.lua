-- Tables of analyses as text: for the screen, as LaTeX and as CSV.
--
-- M.tabulate (table_entries.lua) makes a model of a table. Other functions format the model.

local csv = require("lab.study.report.tables.csv")
local entries = require("lab.study.report.tables.table_entries")
local lists = require("base.lists")
local open_study = require("lab.study.report.open_study")
local statistics = require("lab.study.read.statistics")
local table_latex = require("lab.study.report.tables.table_latex")
local table_text = require("lab.study.report.tables.table_text")

local M = {}

M.WIDTH = 100 -- characters of a line on the screen
local MAX_ROWS, MAX_NOTES = 40, 12 -- on the screen; files have all rows and notes
local MAX_DAMAGED = 5 -- damaged runs that a message lists

M.MISSING = "-"
-- Titles of a run's two checkpoints, before and after training.
M.STEP_TITLES = { start = "step 0", trained = "trained" }

M.tabulate = entries.tabulate

-- Formats numbers. Returns MISSING if the first number is nil.
function M.format_number(form, ...)
  return ... and form:format(...) or M.MISSING
end

-- Returns "mean ± standard deviation", or only the mean for a single value; MISSING without values.
function M.format_mean(form, values)
  local sd = statistics.sd(values)
  return M.format_number(form, statistics.mean(values)) .. (sd and (" ± " .. form):format(sd) or "")
end

-- Returns a table as text for the screen, with its first MAX_ROWS rows.
function M.render(model)
  local short_model = setmetatable({ rows = table.move(model.rows, 1, math.min(MAX_ROWS, #model.rows), 1, {}) },
    { __index = model })
  local remaining_count = #model.rows - #short_model.rows
  return table_text.render(short_model, M.WIDTH, MAX_NOTES) .. (remaining_count > 0
    and ("  and %d more\n"):format(remaining_count) or "")
end

-- Returns tables as LaTeX. list: models of tables; texts in the list are left out.
function M.render_latex(list)
  return table.concat(lists.map(list, function(model)
    return type(model) == "table" and table_latex.render(model) or nil
  end), "\n")
end

-- Returns the model of a table with a row and a column for each group.
--   model             the fields for M.tabulate, without heads and rows
--   get_name(group)   returns a group's name
--   format(a, b)      returns the text in the row of a and the column of b
function M.tabulate_pairs(model, groups, get_name, format)
  local names = lists.map(groups, get_name)
  return M.tabulate(lists.merge(model, { heads = lists.join({ "cell" }, names), rows = lists.map(groups, function(a, i)
    return lists.join({ names[i] }, lists.map(groups, function(b) return format(a, b) end))
  end) }))
end

local SUMMARIES = { count = function(list) return #list end, mean = statistics.mean, sd = statistics.sd }

local function get_value(row, field)
  local summary, path = field:match("^(%a+):(.*)$")
  if summary then
    return SUMMARIES[summary](lists.get(row, path))
  end
  return row[field] or lists.get(row, field)
end

-- Returns a CSV file, { path, text }, with a line for each row. columns: words NAME=FIELD; NAME alone means NAME=NAME.
-- FIELD has one of two forms:
--   a path in the row, such as a.name
--   count:PATH, mean:PATH or sd:PATH, where PATH is the path of a list of numbers
function M.to_csv(path, columns, rows)
  local heads, fields = {}, {}
  for name, field in columns:gmatch("([%w_]+)=?(%S*)") do
    heads[#heads + 1], fields[#fields + 1] = name, field ~= "" and field or name
  end
  local lines = lists.map(rows, function(row)
    return table.concat(lists.map(fields, function(field) return csv.format_field(get_value(row, field)) end), ",")
  end)
  return { path = path, text = table.concat(lists.join({ table.concat(heads, ",") }, lines), "\n") .. "\n" }
end

-- Returns a message on the damaged runs of a study; nil without any.
function M.describe_damage(study)
  local _, damaged = open_study.list_problems(study)
  return #damaged > 0 and ("damaged and left out:%s%s"):format(open_study.format(damaged, MAX_DAMAGED),
    #damaged > MAX_DAMAGED and ("\n  and %d more"):format(#damaged - MAX_DAMAGED) or "") or nil
end

return M
