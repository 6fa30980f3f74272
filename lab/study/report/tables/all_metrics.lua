-- A table of a report: every cell on every set on which it was evaluated, in all metrics but the loss.
--
-- Input: a study with the results of its cells (cells.lua). Output: a table as in score_tables.lua: rows are cells,
-- columns are sets; each entry has a value for each metric, the median over the seeds at the chosen learning rate. nil
-- if no run at a chosen rate has an evaluation.

local captions = require("lab.study.report.tables.captions")
local entries = require("lab.study.report.tables.table_entries")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local runs = require("lab.study.read.runs")
local statistics = require("lab.study.read.statistics")
local score_tables = require("lab.study.report.tables.score_tables")

local M = {}

local SETS = { "validation", "train", "test", "in_distribution", "between", "beyond" }
local NAMES = { "exact_match", "accuracy", "accuracy_teacher_forced" }
local SHORT = { accuracy_teacher_forced = "teacher-forced" } -- titles of metrics in a table that also shows accuracy

-- Returns the evaluation of a run whose split is exactly this set; nil without one.
local function find_evaluation(run, set)
  local evaluation = runs.get_evaluation(run, set)
  return evaluation and evaluation.split == set and evaluation or nil
end

-- Returns the sets on which any run was evaluated: names in SETS, then names such as "beyond length" (evaluations.lua).
-- Second result: whether any run has a set "test" with parts.
local function list_sets(study)
  local is_evaluated, axis_sets, has_parts = {}, {}, false
  for _, run in ipairs(lists.collect(study.cells, runs.get_chosen_runs)) do
    has_parts = has_parts or run.parts ~= nil
    for _, set in ipairs(SETS) do
      is_evaluated[set] = is_evaluated[set] or find_evaluation(run, set) ~= nil
    end
    for _, entry in ipairs(run.parts and run.parts.axes or {}) do
      axis_sets[#axis_sets + 1], is_evaluated[entry.name] = not is_evaluated[entry.name] and entry.name or nil, true
    end
  end
  return lists.append(lists.map(SETS, function(set) return is_evaluated[set] and set or nil end), axis_sets),
    has_parts
end

local function compute_median(cell, set, metric)
  return statistics.quantile(lists.map(runs.get_chosen_runs(cell), function(run)
    local evaluation = run.state == "evaluated" and find_evaluation(run, set)
    return evaluation and runs.compute_mean(evaluation, metric) or nil
  end), 0.5)
end

local function list_metrics(study, sets)
  return lists.map(NAMES, function(name)
    return lists.find(study.cells, function(cell)
      return lists.find(sets, function(set) return compute_median(cell, set, name) end)
    end) and name or nil
  end)
end

local ANSWERS = "exact match and accuracy are measured on the model's own answers; teacher-forced accuracy, on tokens "
  .. "that the model predicts from the earlier tokens of the target"

-- Describes the grid that most runs have on each set: "sets: validation (mean over 8 lengths 1..8)".
local function describe_grids(study, sets)
  local list = lists.collect(study.cells, runs.get_chosen_runs)
  local texts = lists.map(sets, function(set)
    local grid = runs.find_usual_grid(list, set)
    return grid and ("%s (%s)"):format(set, grid.text) or nil
  end)
  return #texts > 0 and ("sets: %s"):format(table.concat(texts, ", ")) or nil
end

local function explain_numbers(names, has_parts)
  local texts = { lists.has(names, "accuracy") and lists.has(names, "accuracy_teacher_forced") and ANSWERS or nil }
  texts[#texts + 1] = has_parts and "the set test has the parts in_distribution and beyond" or nil
  return table.concat(texts, "; ")
end

local function make_entry(cell, set, names)
  local entry = { number = cell.number, texts = lists.map(names, function(name)
    local value = compute_median(cell, set, name)
    return value and metrics.by_name[name].form:format(value) or ""
  end) }
  if #runs.get_chosen_runs(cell) == 0 then
    entry.texts[1], entry.is_missing = entries.MISSING, true
  end
  return entry
end

function M.make_cells_table(study)
  local sets, has_parts = list_sets(study)
  if #sets == 0 then
    return nil
  end
  local names = list_metrics(study, sets)
  local subs = lists.map(names, function(name)
    return lists.has(names, "accuracy") and SHORT[name] or metrics.by_name[name].title
  end)
  local rows = lists.map(study.cells, function(cell)
    return { title = score_tables.format_key(study, cell), cells = lists.map(sets, function(set)
      return make_entry(cell, set, names)
    end) }
  end)
  return { name = "measured", title = "Every set and metric in percent: medians over seeds at the chosen learning rate",
    caption = captions.join(explain_numbers(names, has_parts), captions.describe_decoding(study),
      captions.name_rates(study), describe_grids(study, sets)), corner = "cell", subs = subs,
    columns = entries.make_columns(sets), rows = rows, notes = {} }
end

return M
