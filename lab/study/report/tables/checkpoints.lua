-- A table of a report: every cell's score at the last step, at the best checkpoint, and late in training.
--
-- Input: a study with the results of its cells (cells.lua). Output: a table (score_tables.lua) with a row for each
-- cell; nil unless a run at a chosen learning rate has a best checkpoint. Numbers are medians over the runs at a cell's
-- chosen learning rate.

local captions = require("lab.study.report.tables.captions")
local cost = require("lab.study.report.tables.cost")
local entries = require("lab.study.report.tables.table_entries")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local runs = require("lab.study.read.runs")
local score_tables = require("lab.study.report.tables.score_tables")
local statistics = require("lab.study.read.statistics")

local M = {}

local LATE_COUNT = 10 -- number of evaluations in the median `late`

-- Returns the median of a run's scores in its last evaluations during training; nil if none has the metric.
local function compute_late_score(run, metric)
  local points = {}
  for i = math.max(1, #run.during - LATE_COUNT + 1), #run.during do
    local mean = run.during[i].mean
    points[#points + 1] = mean and mean[metric] and metrics.by_name[metric].factor * mean[metric] or nil
  end
  return statistics.quantile(points, 0.5)
end

-- Returns the median of the numbers that get_number returns for a cell's runs at the chosen rate; nil without any.
local function compute_median(cell, get_number)
  return statistics.quantile(lists.map(runs.get_chosen_runs(cell), get_number), 0.5)
end

local function make_row(study, cell)
  local scored, costs = study.scored, {}
  for _, run in ipairs(runs.get_chosen_runs(cell)) do
    costs[run] = cost.compute(study, cell, run)
  end
  local function show_score(get_score)
    return entries.format_number(metrics.by_name[scored.metric].form, compute_median(cell, get_score))
  end
  local function show_count(get_number)
    local count = compute_median(cell, get_number)
    return count and cost.format_count(count) or entries.MISSING
  end
  local tokens = show_count(function(run) return costs[run].tokens end)
  local is_upper_bound = lists.find(runs.get_chosen_runs(cell), function(run) return costs[run].is_upper_bound end)
  return { score_tables.format_key(study, cell),
    show_score(function(run) return run.score end),
    show_score(function(run) return runs.get_best_score(run, scored.split, scored.metric) end),
    show_score(function(run) return compute_late_score(run, scored.metric) end),
    show_count(function(run) return run.best and run.best.step end),
    show_count(function(run) return run.facts.step end),
    is_upper_bound and "at most " .. tokens or tokens, cell = cell }
end

function M.make_cells_table(study)
  local chosen_runs = lists.collect(study.cells, runs.get_chosen_runs)
  local run_with_best = lists.find(chosen_runs, function(run) return run.best end)
  if not run_with_best then
    return nil
  end
  local caption = ("last: at the last step; best: at the checkpoint with the best %s in evaluations during training; "
    .. "late: the median of the last %d evaluations during training, over the lengths of these evaluations; steps and "
    .. "tokens: of the whole training"):format(metrics.by_name[run_with_best.best.metric].title, LATE_COUNT)
  return entries.tabulate({ name = "checkpoints",
    title = ("Last, best and late: %s in %s, medians over seeds at the chosen learning rate"):format(
      entries.name_metric(study), metrics.by_name[study.scored.metric].unit),
    caption = captions.join(caption, captions.describe(study, true)),
    heads = { "cell", "last", "best", "late", "step of the best", "steps", "tokens" },
    rows = lists.map(study.cells, function(cell) return make_row(study, cell) end) })
end

return M
