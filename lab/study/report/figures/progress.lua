-- Panels of loss and accuracy during training, set by set, for a figure of a report.
--
-- Input: a study with the results of its cells (cells.lua), an item { lines, panels, splits }.
-- Output: panels for curves.lua, one for each set and each value of the axis `panels`. A panel without curves is left
-- out. The x axis is in epochs if all runs record the steps of an epoch; else in steps.
--
-- Numbers of two sets are read from metrics.jsonl:
--   loss    the loss of training batches
--   epoch   the running accuracy on training batches
-- The other sets are evaluated during training (eval.during).

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
M.SPLITS = { M.LOSS, "epoch", "train", "test", "validation" } -- default of item.splits

local TITLES = { [M.LOSS] = "loss of training", epoch = "batches of training", train = "the training set, evaluated" }

local function get_epoch_steps(run)
  return run.facts.data and run.facts.data.epoch_batches
end

-- Returns the curves of metrics.jsonl, lists of { step, value }:
--   loss    the loss in nats per token
--   epoch   the running accuracy in percent of an epoch; of a window of steps if the task has no epochs
local function read_logged(run)
  local loss, accuracies, last_epoch, epoch_steps = {}, {}, 0, get_epoch_steps(run)
  for _, row in ipairs(runs.read_metrics(run)) do
    loss[#loss + 1] = row.loss and { row.step, row.loss } or nil
    if epoch_steps and row.epoch and row.epoch_accuracy and row.epoch > last_epoch then
      last_epoch = row.epoch
      accuracies[#accuracies + 1] = { last_epoch * epoch_steps, 100 * row.epoch_accuracy }
    elseif not epoch_steps and (row.accuracy or row.accuracy_teacher_forced) then
      accuracies[#accuracies + 1] = { row.step, 100 * (row.accuracy or row.accuracy_teacher_forced) }
    end
  end
  return { [M.LOSS] = loss, epoch = accuracies }
end

-- Returns the curves of a cell's runs at the chosen learning rate, lists of { x, value }.
--   is_in_epochs    whether x is in epochs; else in steps
--   logged_curves   a cache: run -> result of read_logged
local function list_curves(cell, split, is_in_epochs, metric, logged_curves)
  return lists.map(runs.get_chosen_runs(cell), function(run)
    local points
    if split == M.LOSS or split == "epoch" then
      logged_curves[run] = logged_curves[run] or read_logged(run)
      points = logged_curves[run][split]
    else
      points = time_to_threshold.list_points(run, split, metric)
    end
    for _, point in ipairs(is_in_epochs and points or {}) do
      point[1] = point[1] / get_epoch_steps(run)
    end
    return #points > 0 and points or nil
  end)
end

local function choose_ylabel(study, split)
  if split == M.LOSS then
    return "loss in nats"
  elseif split == "epoch" then
    return captions.is_generative(study) and "teacher-forced accuracy of batches" or "accuracy of batches"
  end
  return entries.name_metric(study)
end

local function make_panel(split, title, is_in_epochs, study)
  return { title = title, split = split, xlabel = is_in_epochs and "epochs" or "steps", x = { 0, 0 },
    ylabel = choose_ylabel(study, split),
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
  local is_in_epochs = not lists.find(chosen_runs, function(run) return not get_epoch_steps(run) end)
  for _, split in ipairs(splits) do
    local set_title = TITLES[split] or score_tables.SETS[split]
    local title = value and score_tables.label(study, item.panels, value) .. (#splits > 1 and ": " .. set_title or "")
      or set_title
    panels[split] = make_panel(split, title, is_in_epochs, study)
  end
  for _, line in ipairs(lines) do
    local logged_curves = {} -- of one cell: memory cannot hold the curves of a whole study
    for _, split in ipairs(splits) do
      local panel, curves_of_runs = panels[split], list_curves(line.cell, split, is_in_epochs, study.scored.metric,
        logged_curves)
      for _, points in ipairs(curves_of_runs) do
        panel.x[2] = math.max(panel.x[2], points[#points][1] * 1.02)
      end
      seed_curves.add_curves(panel, curves_of_runs, styles[line.name], line.label,
        { mean = seed_curves.average(curves_of_runs),
        band = seed_curves.find_quartiles(curves_of_runs), cell = line.cell.number })
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
