-- Scores at single lengths, or at numbers of another axis of the evaluation: a table of a report.
--
-- Input: a study with its cells read, an item { rows, at }, the paper's numbers (published.lua). Output: a table as
-- views.lua makes them, a row for each value of an axis and a column for each number. The paper's file has these
-- numbers in a column of the axis' name, and the values in one of the metric's. Its rows with a text in `quoted` are
-- what the paper took from another: they stand below, with a note.

local captions = require("lab.study.report.tables.captions")
local entries = require("lab.study.report.tables.table_entries")
local metrics = require("lab.study.read.metrics")
local published_module = require("lab.study.read.published")
local runs = require("lab.study.read.runs")
local statistics = require("lab.study.read.statistics")
local views = require("lab.study.report.tables.views")

local M = {}

local function axis_of(study)
  for _, cell in ipairs(study.cells) do
    for _, run in ipairs(cell.runs) do
      if run.score then
        return run.axis
      end
    end
  end
end

-- What the numbers of the evaluations are: the axis of the first run that has any, of the whole study where a page has
-- no such run; nil where none has.
function M.axis(study)
  return axis_of(study) or axis_of(study.whole)
end

local function at_number(run, scored, n)
  for _, evaluation in ipairs(runs.curve(run, scored.split)) do
    for i, length in ipairs(evaluation[scored.metric] and evaluation.lengths or {}) do
      if length == n then
        local value = tonumber(evaluation[scored.metric][i])
        return value and metrics.of[scored.metric].factor * value
      end
    end
  end
end

-- Mean and deviation over the runs at the cell's chosen learning rate.
local function measured(study, cell, n)
  local scores = {}
  for _, run in ipairs(cell and cell.summary.best and cell.summary.best.runs or {}) do
    scores[#scores + 1] = at_number(run, study.scored, n)
  end
  return { value = statistics.mean(scores), sd = statistics.sd(scores), count = #scores }
end

local function theirs(entry, paper)
  entry.paper = paper
  entry.texts[2] = paper and entries.number_text("%.1f", paper) or "" -- left out by the paper
  entry.texts[3] = entries.difference_text("%.1f", entry.value, paper)
  return entry
end

local function entry_of(study, item, cell, key, n, published)
  local got = measured(study, cell, n)
  local note = entries.about(cell, "mean", got)
  local entry = { missing = not got.value, number = cell and cell.number, about = note, value = got.value,
    texts = { entries.number_text("%.1f", got.value, got.sd) .. (note and got.value and "*" or "") } }
  if published then
    theirs(entry, (entries.paper(published, key, item.names, { study.scored.metric })))
  end
  return entry
end

-- A number of the paper in its place; one of another place, such as a mean over all, goes with the words.
local function add_quoted(row, at, n, value)
  for i, here in ipairs(at) do
    if n == tostring(here) then
      theirs(row.cells[i], tonumber(value))
      return
    end
  end
  row.about = ("%s; %s: %s"):format(row.about, n or "?", value or "?")
end

-- Rows of what the paper quotes, which nobody runs here.
local function quoted_rows(study, item, axis, published)
  local rows, by_name = {}, {}
  for _, line in ipairs(published and published.rows or {}) do
    local name = line[item.rows]
    if (line.quoted or "") ~= "" and published_module.fits(line, entries.translate(item.where or {}, item.names)) then
      if not by_name[name] then
        by_name[name] = { title = name .. " (quoted)", cells = {}, about = line.quoted }
        rows[#rows + 1] = by_name[name]
        for i in ipairs(item.at) do
          by_name[name].cells[i] = theirs({ texts = { "" } })
        end
      end
      add_quoted(by_name[name], item.at, line[axis], line[study.scored.metric])
    end
  end
  return rows
end

function M.table(study, item, published)
  local known, columns, rows = M.axis(study), {}, {}
  local axis = known or "length"
  published = known and published -- whose numbers are by an axis that some run has to tell
  for i, n in ipairs(item.at) do
    columns[i] = { title = views.label(axis, n) }
  end
  for i, name in ipairs(views.axis(study, item.rows)) do
    local key = views.with(item.where, { [item.rows] = name })
    local cell = views.find(study, key)
    rows[i] = { title = views.label(item.rows, name), cells = {} }
    for j, n in ipairs(item.at) do
      rows[i].cells[j] = entry_of(study, item, cell, views.with(key, { [axis] = n }), n, published)
    end
  end
  local notes = entries.notes(rows, columns)
  for _, row in ipairs(quoted_rows(study, item, axis, published)) do
    notes[#notes + 1] = ("%s: the paper took it from %s"):format(row.title, row.about)
    rows[#rows + 1] = row
  end
  local what = ("%s in %s by %s, mean and standard deviation (n - 1) over seeds at the chosen learning rate"):format(
    entries.metric(study), metrics.of[study.scored.metric].unit, axis)
  return { title = views.title_of(item, what), about = views.about(item, what, captions.details(study, true)),
    corner = item.rows,
    subs = published and { "ours", "paper", "diff" } or { "" }, columns = columns, rows = rows, notes = notes,
    published = published }
end

return M
