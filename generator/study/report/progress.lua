-- Accuracy while models train, set by set: a figure of a report.
--
-- Input: a study with its cells read, an item { lines, splits }, the bold and faint curves of figures.lua. Output: a
-- figure as curves.lua draws it; nil where nothing was measured on the way. A panel for each set: "epoch" is the
-- running accuracy of training (metrics.jsonl), all others are evaluations on the way (eval.during). The axis counts
-- epochs where all runs say how many steps one has, else steps.

local entries = require("study.report.entries")
local reached = require("study.report.reached")
local runs = require("study.read.runs")
local views = require("study.report.views")

local M = {}

M.SPLITS = { "epoch", "train", "test", "validation" }

local TITLES = { epoch = "batches of training", train = "training, evaluated" }

-- Steps of an epoch of a run; nil where it does not say.
local function epoch_of(run)
  return run.facts.data and run.facts.data.epoch_batches
end

-- The running accuracy in percent: of whole epochs, or where there are none, of windows of steps.
local function running(run, unit)
  local points, last, epoch = {}, 0, epoch_of(run)
  for _, row in ipairs(runs.metrics(run)) do
    if epoch and row.epoch and row.epoch_accuracy and row.epoch > last then
      last = row.epoch
      points[#points + 1] = { last * epoch / unit, 100 * row.epoch_accuracy }
    elseif not epoch and row.accuracy then
      points[#points + 1] = { row.step / unit, 100 * row.accuracy }
    end
  end
  return points
end

local function evaluated(run, split, unit, metric)
  local points = reached.points(run, split, metric)
  for _, point in ipairs(points) do
    point[1] = point[1] / unit
  end
  return points
end

-- Curves of the runs of a cell at its best learning rate, those that have points.
local function lists_of(cell, split, in_epochs, metric)
  local lists = {}
  for _, run in ipairs(cell.summary.best and cell.summary.best.runs or {}) do
    local unit = in_epochs and epoch_of(run) or 1
    local points = split == "epoch" and running(run, unit) or split ~= "epoch" and evaluated(run, split, unit, metric)
    lists[#lists + 1] = #points > 0 and points or nil
  end
  return lists
end

-- Whether all runs that are shown say how many steps an epoch has.
local function all_have_epochs(cells)
  for _, cell in ipairs(cells) do
    for _, run in ipairs(cell.summary.best and cell.summary.best.runs or {}) do
      if not epoch_of(run) then
        return false
      end
    end
  end
  return true
end

-- { name, cell } of the item's lines.
local function lines_of(study, item)
  local lines = {}
  for _, name in ipairs(views.axis(study, item.lines)) do
    local cell = views.find(study, views.with(item.where, { [item.lines] = name }))
    lines[#lines + 1] = cell and { name = name, cell = cell } or nil
  end
  return lines
end

-- styles: by name; add(panel, lists, style, title): bold and faint curves.
function M.panels(study, item, styles, add)
  local lines, cells, panels = lines_of(study, item), {}, {}
  for i, entry in ipairs(lines) do
    cells[i] = entry.cell
  end
  local in_epochs, metric = all_have_epochs(cells), study.scored.metric
  for _, split in ipairs(item.splits or M.SPLITS) do
    local panel = { title = TITLES[split] or views.SETS[split], xlabel = in_epochs and "epochs" or "steps",
      ylabel = split == "epoch" and "accuracy" or entries.metric(study), x = { 0, 0 }, y = { 0, 100 }, percent = true,
      curves = {}, marks = {} }
    for _, entry in ipairs(lines) do
      local lists = lists_of(entry.cell, split, in_epochs, metric)
      for _, points in ipairs(lists) do
        panel.x[2] = math.max(panel.x[2], points[#points][1] * 1.02)
      end
      add(panel, lists, styles[entry.name], views.label(item.lines, entry.name))
    end
    panels[#panels + 1] = #panel.curves > 0 and panel or nil
  end
  return panels
end

return M
