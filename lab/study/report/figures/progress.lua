-- Panels of loss and accuracy during training, set by set, for a figure of a report.
--
-- Input: a study with its cells read, an item { lines, panels, splits }. Output: panels for curves.lua, none if nothing
-- was measured during training. There is a panel for each set and each value of the axis `panels`. Two names stand for
-- numbers of metrics.jsonl instead of sets: "loss" for the loss of training batches, "epoch" for the running accuracy
-- on these batches. The other sets are evaluated during training (eval.during). The x axis counts epochs if all runs
-- record the number of steps of an epoch, else steps.

local captions = require("lab.study.report.tables.captions")
local entries = require("lab.study.report.tables.table_entries")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local time_to_threshold = require("lab.study.report.tables.time_to_threshold")
local runs = require("lab.study.read.runs")
local scales = require("lab.study.report.figures.scales")
local seed_curves = require("lab.study.report.figures.seed_curves")
local score_tables = require("lab.study.report.tables.score_tables")

local M = {}

M.LOSS = "loss"
M.SPLITS = { M.LOSS, "epoch", "train", "test", "validation" } -- sets of an item that names none

local TITLES = { [M.LOSS] = "loss of training", epoch = "batches of training", train = "the training set, evaluated" }

local function count_epoch_steps(run)
  return run.facts.data and run.facts.data.epoch_batches
end

-- Reads the curves of metrics.jsonl: { loss, epoch }, lists of { step, value }. loss: the logged loss in nats per
-- token; epoch: the running accuracy in percent, of whole epochs or, without epochs, of windows of steps.
local function read_logged(run)
  local loss, running, last_epoch, epoch_steps = {}, {}, 0, count_epoch_steps(run)
  for _, row in ipairs(runs.read_metrics(run)) do
    loss[#loss + 1] = row.loss and { row.step, row.loss } or nil
    if epoch_steps and row.epoch and row.epoch_accuracy and row.epoch > last_epoch then
      last_epoch = row.epoch
      running[#running + 1] = { last_epoch * epoch_steps, 100 * row.epoch_accuracy }
    elseif not epoch_steps and (row.accuracy or row.accuracy_teacher_forced) then
      running[#running + 1] = { row.step, 100 * (row.accuracy or row.accuracy_teacher_forced) }
    end
  end
  return { [M.LOSS] = loss, epoch = running }
end

-- Returns the curves of a cell's runs at its chosen learning rate, lists of { x, value }. has_epochs: whether x is in
-- epochs, and not in steps. logged_metrics: a cache of the results of read_logged by run.
local function list_curves(cell, split, has_epochs, metric, logged_metrics)
  return lists.map(runs.get_chosen_runs(cell), function(run)
    local points
    if split == M.LOSS or split == "epoch" then
      logged_metrics[run] = logged_metrics[run] or read_logged(run)
      points = logged_metrics[run][split]
    else
      points = time_to_threshold.list_points(run, split, metric)
    end
    for _, point in ipairs(has_epochs and points or {}) do
      point[1] = point[1] / count_epoch_steps(run)
    end
    return #points > 0 and points or nil
  end)
end

local function make_panel(split, title, has_epochs, study)
  return { title = title, split = split, xlabel = has_epochs and "epochs" or "steps", x = { 0, 0 },
    ylabel = split == M.LOSS and "loss in nats" or split ~= "epoch" and entries.name_metric(study)
      or captions.name_answers(study) and "teacher-forced accuracy of batches" or "accuracy of batches",
    percent = split == "epoch" or split ~= M.LOSS and metrics.by_name[study.scored.metric].unit == "percent",
    curves = {},
    marks = {} }
end

-- Returns the panels of a value of the axis `panels`, by set. value: false for an item without this axis.
local function make_value_panels(study, item, value, splits, styles)
  local lines = lists.filter(score_tables.list_along(study, item, item.lines, value and { [item.panels] = value }),
    function(line) return line.cell end)
  local panels = {}
  local chosen_runs = lists.collect(lines, function(line) return runs.get_chosen_runs(line.cell) end)
  local has_epochs = not lists.find(chosen_runs, function(run) return not count_epoch_steps(run) end)
  for _, split in ipairs(splits) do
    local set = TITLES[split] or score_tables.SETS[split]
    local title = value and score_tables.label(study, item.panels, value) .. (#splits > 1 and ": " .. set or "") or set
    panels[split] = make_panel(split, title, has_epochs, study)
  end
  for _, entry in ipairs(lines) do
    local logged_metrics = {} -- one cell only: memory cannot hold the metrics of a whole study
    for _, split in ipairs(splits) do
      local panel, curves_of_runs = panels[split], list_curves(entry.cell, split, has_epochs, study.scored.metric,
        logged_metrics)
      for _, points in ipairs(curves_of_runs) do
        panel.x[2] = math.max(panel.x[2], points[#points][1] * 1.02)
      end
      seed_curves.add_curves(panel, curves_of_runs, styles[entry.name], entry.label,
        { mean = seed_curves.average(curves_of_runs),
        band = seed_curves.find_quartiles(curves_of_runs), cell = entry.cell.number })
    end
  end
  for split, panel in pairs(panels) do
    panels[split] = #panel.curves > 0 and panel or nil
    scales.fit_panel(panel)
  end
  return panels
end

-- Returns the panels; the field `split` of a panel is the name of its set. styles: value of the axis `lines` -> style.
function M.make_panels(study, item, styles)
  local splits = item.splits or M.SPLITS
  local by_value = lists.map(score_tables.list_panels(study, item), function(value)
    return make_value_panels(study, item, value, splits, styles)
  end)
  return lists.collect(splits, function(split)
    return lists.map(by_value, function(panels) return panels[split] end)
  end)
end

return M
