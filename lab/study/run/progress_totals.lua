-- The progress of a study, summed over its runs.
--
-- Input: cells whose runs have a state and, once started, `progress` (run_progress.lua). Output: sums { runs, done,
-- further (runs in `done` with more steps than requested), running, failed, waiting (runs that cannot be trained yet),
-- left (all other runs; also "to train on" and "to evaluate", which are parts of left), gone and work (operations that
-- are done, and all operations; a cell with unknown work counts as the mean of the others), share, rate (steps per
-- second of running runs), pace (operations per second), best (the best training accuracy in last lines) }. Pure.

local lists = require("base.lists")

local M = {}

local COUNTED = { done = "done", running = "running", failed = "failed", waiting = "waiting",
  ["trained further"] = "done" } -- a sweep skips such a run

-- Initial sums. Operations are floats, since those of a study can exceed the largest integer.
local function empty()
  return { runs = 0, done = 0, further = 0, running = 0, failed = 0, waiting = 0, left = 0, ["to train on"] = 0,
    ["to evaluate"] = 0, gone = 0.0, work = 0.0, rate = 0.0, pace = 0.0, unknown = 0, unknown_done = 0 }
end

local function add_run(sums, cell, run)
  local wanted, progress = cell.wanted, run.progress
  local state = COUNTED[run.state] or "left"
  sums.runs, sums[state] = sums.runs + 1, sums[state] + 1
  sums.further = sums.further + (run.state == "trained further" and 1 or 0)
  if state == "left" and sums[run.state] then
    sums[run.state] = sums[run.state] + 1
  end
  if wanted and wanted.total then
    sums.work = sums.work + wanted.work
    sums.gone = sums.gone + (state == "done" and wanted.work or progress and math.min(progress.work, wanted.work) or 0)
  else
    sums.unknown = sums.unknown + 1
    sums.unknown_done = sums.unknown_done + (state == "done" and 1 or 0)
  end
  if progress and progress.accuracy then
    sums.best = math.max(sums.best or progress.accuracy, progress.accuracy)
  end
  if run.state == "running" and progress and progress.rate then
    sums.pace = sums.pace + progress.rate * cell.spec.plan.flops_per_step
    sums.rate = sums.rate + (progress.evaluated and 0 or progress.rate)
  end
end

-- Completes sums: a run with unknown work counts as the mean of the others; if no work is known, each run counts as 1.
local function settle(sums, mean)
  local each = mean or 1
  sums.work = sums.work + sums.unknown * each
  sums.gone = sums.gone + sums.unknown_done * each
  sums.share = sums.work > 0 and sums.gone / sums.work or sums.done / math.max(1, sums.runs)
  sums.is_known = sums.unknown == sums.unknown_done
  return sums
end

-- The name of a cell's group: its values on the first `depth` axes, without axes of a single value.
local function name_of(study, cell, depth)
  local shown = lists.filter({ table.unpack(study.axes, 1, depth) }, function(axis) return #axis.values > 1 end)
  local values = lists.map(shown, function(axis) return cell.key[axis.name] end)
  return values[1] and table.concat(values, " ") or cell.key[study.axes[1].name]
end

-- Groups cells that have equal values on the first `depth` axes, in the order of the grid.
local function split(study, depth)
  local groups = lists.group(study.cells, function(cell)
    local values = lists.map({ table.unpack(study.axes, 1, depth) }, function(axis) return cell.key[axis.name] end)
    return table.concat(values, "\0")
  end)
  return lists.map(groups, function(cells) return { name = name_of(study, cells[1], depth), cells = cells } end)
end

local function sum(cells)
  local sums = empty()
  for cell, run in lists.nested(cells, "runs") do
    add_run(sums, cell, run)
  end
  return sums
end

-- The sums of all cells, and those of groups as a list of { name, cells (a number), sums }, in the order of the grid.
-- The last axes are merged until there are at most `most` groups, or one axis remains; depth: their number.
function M.of(study, most)
  local total, depth = sum(study.cells), #study.axes
  local groups = split(study, depth)
  while #groups > most and depth > 1 do
    depth = depth - 1
    groups = split(study, depth)
  end
  local known = total.runs - total.unknown
  local mean = known > 0 and total.work / known or nil
  for _, group in ipairs(groups) do
    group.sums, group.cells = settle(sum(group.cells), mean), #group.cells
  end
  return settle(total, mean), groups, depth
end

return M
