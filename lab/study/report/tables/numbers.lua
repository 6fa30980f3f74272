-- A table of a report: scores at single lengths, or at numbers of another axis of the evaluation.
--
-- Input: a study with the results of its cells (cells.lua), an item { rows, at }, the paper's numbers (published.lua).
-- Output: a table as in score_tables.lua, with a row for each value of the axis item.rows and a column for each number
-- in item.at. In the paper's file, the column with the name of the evaluation's axis has the numbers that item.at
-- lists, and the column with the metric's name has scores. Rows with a text in `quoted` are results that the paper
-- quotes from another paper: the table lists them at its end, with a note.

local captions = require("lab.study.report.tables.captions")
local cells = require("lab.study.read.cells")
local entries = require("lab.study.report.tables.table_entries")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local published_module = require("lab.study.read.published")
local runs = require("lab.study.read.runs")
local score_tables = require("lab.study.report.tables.score_tables")

local M = {}

-- Returns the axis of the numbers: the axis of the first run with a score, in the cells of `study` or else in those of
-- the full study; nil without such a run.
function M.find_axis(study)
  local run = cells.list_scored_runs(study)[1] or cells.list_scored_runs(study.full_study)[1]
  return run and run.axis
end

-- Returns the score at the number n, in the unit of the metric, in a list of evaluations; nil without one.
function M.find_score(evaluations, metric, number)
  for _, evaluation in ipairs(evaluations) do
    for i, length in ipairs(evaluation[metric] and evaluation.lengths or {}) do
      if length == number then
        local value = tonumber(evaluation[metric][i])
        return value and metrics.by_name[metric].factor * value
      end
    end
  end
end

local function add_paper(entry, paper)
  return entries.add_paper(entry, paper, paper and entries.format_number("%.1f", paper) or "", "%.1f")
end

local function make_entry(study, item, cell, key, number, published)
  local measurement = entries.summarise_runs(cell, function(run)
    return M.find_score(runs.get_curve(run, study.scored.split), study.scored.metric, number)
  end)
  local entry = entries.make_entry(cell, measurement.value, entries.join_cautions(cell, "mean", measurement),
    entries.format_number("%.1f", measurement.value, measurement.sd))
  return published and add_paper(entry, (entries.find_paper(published, key, item.names, { study.scored.metric })))
    or entry
end

-- Makes rows of results that the paper quotes. The field `source` of a row is a text: first the source, then the quoted
-- results at numbers that have no column in the table.
local function make_quoted_rows(study, item, axis, published)
  local where, metric = entries.translate(item.where or {}, item.names), study.scored.metric
  local quoted_rows = lists.filter(published and published.rows or {}, function(line)
    return (line.quoted or "") ~= "" and published_module.fits(line, where)
  end)
  return lists.map(lists.group(quoted_rows, function(line) return line[item.rows] end), function(lines)
    local by_number, shown_numbers = lists.index_by(lines, function(line) return line[axis] or "?" end), {}
    local columns = lists.map(item.at, function(n)
      shown_numbers[tostring(n)] = true
      return add_paper({ texts = { "" } }, tonumber(lists.get(by_number[tostring(n)], metric)))
    end)
    local other_texts = lists.map(lines, function(line)
      return not shown_numbers[line[axis]] and ("%s: %s"):format(line[axis] or "?", line[metric] or "?") or nil
    end)
    return { title = lines.key .. " (quoted)", cells = columns,
      source = table.concat(lists.join({ lines[1].quoted }, other_texts), "; ") }
  end)
end

function M.make_table(study, item, published)
  local run_axis = M.find_axis(study)
  local axis = run_axis or "length"
  published = run_axis and published -- the paper's numbers can be shown only if some run names the axis
  local columns = entries.make_columns(lists.map(item.at, function(n) return score_tables.label(study, axis, n) end))
  local rows = lists.map(score_tables.list_along(study, item, item.rows), function(row)
    return { title = row.label, cells = lists.map(item.at, function(n)
      return make_entry(study, item, row.cell, lists.merge(row.key, { [axis] = n }), n, published)
    end) }
  end)
  local notes = entries.collect_notes(rows, columns)
  for _, row in ipairs(make_quoted_rows(study, item, axis, published)) do
    notes[#notes + 1] = ("%s: the paper took it from %s"):format(row.title, row.source)
    rows[#rows + 1] = row
  end
  local heading = ("%s in %s by %s, mean and standard deviation (n - 1) over seeds at the chosen learning rate"):format(
    entries.name_metric(study), metrics.by_name[study.scored.metric].unit, axis)
  return score_tables.complete(item, heading, captions.describe(study, true), published, columns, rows, notes)
end

return M
