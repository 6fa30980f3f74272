-- Every cell on every set that it was evaluated on, in all metrics: a table of a report.
--
-- Input: a study with its cells read (cells.lua). Output: a table as views.lua makes them: rows are cells, columns
-- sets, and the values in each cell the metrics, medians over the seeds at the chosen learning rate; nil where nothing
-- has a score.

local captions = require("study.report.captions")
local entries = require("study.report.entries")
local metrics = require("study.read.metrics")
local runs = require("study.read.runs")
local statistics = require("study.read.statistics")
local views = require("study.report.views")

local M = {}

local SETS = { "validation", "train", "in_distribution", "between", "beyond", "test" }
local GENERATIVE, OTHER = { "exact_match", "accuracy", "accuracy_teacher_forced" }, { "accuracy", "exact_match" }

local function shown_runs(cell)
  return cell.summary.best and cell.summary.best.runs or {}
end

-- The evaluation of a run by the name of a set; a name of a role is none of a set.
local function evaluation_of(run, set)
  local evaluation = runs.evaluation(run, set)
  return evaluation and evaluation.split == set and evaluation or nil
end

-- Names of sets that any run was evaluated on, those beyond single axes behind them; and whether a model is generative.
local function sets_of(study)
  local seen, names, generative = {}, {}, false
  local further = {}
  for _, cell in ipairs(study.cells) do
    for _, run in ipairs(shown_runs(cell)) do
      generative = generative or run.decoding ~= nil
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
  return table.move(further, 1, #further, #names + 1, names), generative
end

local function median(list, set, metric)
  local values = {}
  for _, run in ipairs(list) do
    values[#values + 1] = M.percent(run, set, metric)
  end
  return statistics.quantile(values, 0.5)
end

-- The score of a run on a set by its own name; nil where it has none.
function M.percent(run, set, metric)
  local evaluation = run.state == "evaluated" and evaluation_of(run, set) or nil
  return evaluation and runs.percent(evaluation, metric) or nil
end

local function entry_of(cell, set, names)
  local entry = { texts = {}, number = cell.number }
  for i, name in ipairs(names) do
    local value = median(shown_runs(cell), set, name)
    entry.texts[i] = value and metrics.of[name].form:format(value) or ""
  end
  return entry
end

function M.table(study)
  local sets, generative = sets_of(study)
  if #sets == 0 then
    return nil
  end
  local names, columns, rows, subs = generative and GENERATIVE or OTHER, {}, {}, {}
  for i, name in ipairs(names) do
    subs[i] = metrics.of[name].title
  end
  for i, set in ipairs(sets) do
    columns[i] = { title = set }
  end
  for i, cell in ipairs(study.cells) do
    local note = entries.about(cell, "mean", {})
    rows[i] = { title = views.key_text(study, cell) .. (note and "*" or ""), cells = {} }
    for j, set in ipairs(sets) do
      rows[i].cells[j] = entry_of(cell, set, names)
    end
  end
  local answers = generative and "accuracy and exact match are of the answers that the model gives by itself, "
    .. "teacher-forced accuracy of tokens that see the target before them" or nil
  return { name = "measured", title = "Every set and metric in percent: medians over seeds at the chosen learning rate",
    about = captions.before(answers, captions.curves(study)), corner = "cell", subs = subs, columns = columns,
    rows = rows, notes = {} }
end

return M
