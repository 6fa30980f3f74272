-- Every cell on every set that it was evaluated on, in all metrics: a table of a report.
--
-- Input: a study with its cells read (cells.lua). Output: a table as views.lua makes them: rows are cells, columns
-- sets, and the values in each cell the metrics, medians over the seeds at the chosen learning rate; nil where nothing
-- has a score.

local captions = require("lab.study.report.tables.captions")
local entries = require("lab.study.report.tables.table_entries")
local grids = require("lab.study.read.grids")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local runs = require("lab.study.read.runs")
local statistics = require("lab.study.read.statistics")
local views = require("lab.study.report.tables.views")

local M = {}

local SETS = { "validation", "train", "test", "in_distribution", "between", "beyond" }
local NAMES = { "exact_match", "accuracy", "accuracy_teacher_forced" }
local SHORT = { accuracy_teacher_forced = "teacher-forced" } -- accuracy, beside the other

local function shown_runs(cell)
  return cell.summary.best and cell.summary.best.runs or {}
end

-- The evaluation of a run by the name of a set; a name of a role is none of a set.
local function evaluation_of(run, set)
  local evaluation = runs.evaluation(run, set)
  return evaluation and evaluation.split == set and evaluation or nil
end

-- Names of sets that any run was evaluated on, those beyond single axes behind them; and whether some are parts of the
-- set test.
local function sets_of(study)
  local seen, names, further, parts = {}, {}, {}, false
  for _, cell in ipairs(study.cells) do
    for _, run in ipairs(shown_runs(cell)) do
      parts = parts or run.parts ~= nil
      for _, set in ipairs(SETS) do
        seen[set] = seen[set] or evaluation_of(run, set) ~= nil
      end
      for _, part in ipairs(run.parts and run.parts.axes or {}) do
        further[#further + 1], seen[part.name] = not seen[part.name] and part.name or nil, true
      end
    end
  end
  for _, set in ipairs(SETS) do
    names[#names + 1] = seen[set] and set or nil
  end
  return table.move(further, 1, #further, #names + 1, names), parts
end

-- The score of a run on a set by its own name; nil where it has none.
local function percent_on(run, set, metric)
  local evaluation = run.state == "evaluated" and evaluation_of(run, set) or nil
  return evaluation and runs.percent(evaluation, metric) or nil
end

local function median(list, set, metric)
  local values = lists.map(list, function(run) return percent_on(run, set, metric) end)
  return statistics.quantile(values, 0.5)
end

-- Metrics that any run has on any of the sets.
local function metrics_of(study, sets)
  local names = {}
  for _, name in ipairs(NAMES) do
    local has = false
    for _, cell in ipairs(study.cells) do
      for _, set in ipairs(sets) do
        has = has or median(shown_runs(cell), set, name) ~= nil
      end
    end
    names[#names + 1] = has and name or nil
  end
  return names
end

local OWN = "exact match and accuracy are of the answers that the model gives by itself, teacher-forced accuracy is of "
  .. "tokens whose target is known up to them"

-- The grid of each set as a sentence, "Sets: validation (mean over 8 lengths 1..8)."; that of most runs.
local function grids_text(study, sets)
  local list, texts = {}, {}
  for _, cell in ipairs(study.cells) do
    table.move(shown_runs(cell), 1, #shown_runs(cell), #list + 1, list)
  end
  for _, set in ipairs(sets) do
    local grid = grids.usual(list, set)
    texts[#texts + 1] = grid and ("%s (%s)"):format(set, grid.text) or nil
  end
  return #texts > 0 and ("Sets: %s."):format(table.concat(texts, ", ")) or nil
end

-- What the numbers are, as a sentence in lower case; nil where they need none.
local function about_text(names, parts)
  local own = lists.has(names, "accuracy") and lists.has(names, "accuracy_teacher_forced") and OWN or nil
  local of_test = parts and "the set test has the parts in_distribution and beyond" or nil
  return own and of_test and own .. "; " .. of_test or own or of_test
end

local function entry_of(cell, set, names)
  local entry = { texts = {}, number = cell.number }
  for i, name in ipairs(names) do
    local value = median(shown_runs(cell), set, name)
    entry.texts[i] = value and metrics.of[name].form:format(value) or ""
  end
  if #shown_runs(cell) == 0 then
    entry.texts[1], entry.missing = entries.MISSING, true
  end
  return entry
end

function M.table(study)
  local sets, parts = sets_of(study)
  if #sets == 0 then
    return nil
  end
  local names, columns, rows, subs = metrics_of(study, sets), {}, {}, {}
  for i, name in ipairs(names) do
    subs[i] = lists.has(names, "accuracy") and SHORT[name] or metrics.of[name].title
  end
  for i, set in ipairs(sets) do
    columns[i] = { title = set }
  end
  for i, cell in ipairs(study.cells) do
    rows[i] = { title = views.key_text(study, cell), cells = {} }
    for j, set in ipairs(sets) do
      rows[i].cells[j] = entry_of(cell, set, names)
    end
  end
  return { name = "measured", title = "Every set and metric in percent: medians over seeds at the chosen learning rate",
    about = captions.before(about_text(names, parts), captions.join(captions.curves(study), grids_text(study, sets))),
    corner = "cell", subs = subs, columns = columns, rows = rows, notes = {} }
end

return M
