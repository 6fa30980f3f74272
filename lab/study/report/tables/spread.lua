-- A table of a report: the spread of scores over seeds within each value of an axis, and between these values.
--
-- Input: a study with the results of its cells (cells.lua), an item { rows, of }. Output: a table as in
-- score_tables.lua, with a row for each value of the axis `rows`. Each value of the axis `of` has a mean over its
-- seeds. "sd within" is the root of the pooled variance of scores around these means; "sd between" is the root of the
-- additional variance of the means, by the method of moments for one random effect:
--   variance = (mean square between values - mean square within values) / (effective number of runs of a value)
-- A negative variance counts as 0.

local captions = require("lab.study.report.tables.captions")
local entries = require("lab.study.report.tables.table_entries")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local statistics = require("lab.study.read.statistics")
local score_tables = require("lab.study.report.tables.score_tables")

local M = {}

-- Returns the spread of lists of scores, one list for each group:
--   mean              of all scores
--   within, between   the standard deviations within and between groups, nil if undefined
--   groups            the number of lists with a score
--   runs              the number of scores
function M.compute(lists_of_scores)
  local groups = lists.filter(lists_of_scores, function(list) return #list > 0 end)
  local scores = lists.collect(groups, function(list) return list end)
  local grand_mean, degrees_of_freedom = statistics.mean(scores), #scores - #groups
  local squares_within = lists.sum(groups, function(list) return (#list - 1) * (statistics.sd(list) or 0) ^ 2 end)
  local squares_between = lists.sum(groups, function(list) return #list * (statistics.mean(list) - grand_mean) ^ 2 end)
  local result = { mean = grand_mean, groups = #groups, runs = #scores,
    within = degrees_of_freedom > 0 and math.sqrt(squares_within / degrees_of_freedom) or nil }
  if result.within and #groups > 1 then
    local effective_group_size = (#scores - lists.sum(groups, function(list) return (#list) ^ 2 end) / #scores)
      / (#groups - 1)
    local excess = squares_between / (#groups - 1) - squares_within / degrees_of_freedom
    result.between = math.sqrt(math.max(0, excess / effective_group_size))
  end
  return result
end

local function make_row(study, item, row)
  local lists_of_scores, notes = {}, {}
  for i, value in ipairs(score_tables.list_along(study, item, item.of, { [item.rows] = row.name })) do
    local cell = value.cell
    lists_of_scores[i] = cell and cell.summary.best_rate and cell.summary.best_rate.scores or {}
    local note = entries.join_cautions(cell, "mean", {})
    notes[#notes + 1] = note and ("%s: %s"):format(value.label, note)
  end
  local components = M.compute(lists_of_scores)
  local function make_entry(value, note) -- without a cell to link to, since the value is of several cells
    return entries.make_entry(nil, value, note, entries.format_number("%.1f", value))
  end
  return { title = row.label, cells = { make_entry(components.mean, notes[1] and table.concat(notes, "; ")),
    make_entry(components.within), make_entry(components.between),
    { texts = { ("%d, %d"):format(components.runs, components.groups) } } } }
end

function M.make_table(study, item)
  local columns = entries.make_columns({ "mean", "sd within", "sd between", ("runs, %ss"):format(item.of) })
  local rows = lists.map(score_tables.list_along(study, item, item.rows), function(row) return make_row(study, item,
    row) end)
  local heading = ("%s in %s: spread over seeds within each %s, and between them"):format(entries.name_metric(study),
    metrics.by_name[study.scored.metric].unit, item.of)
  local contents = score_tables.complete(item, heading, nil, nil, columns, rows)
  contents.caption = captions.join("variance components of one random effect; at the chosen learning rate of each cell",
    captions.describe(study, true))
  return contents
end

return M
