-- The work of training on a file of examples and of its evaluation, by the lengths of the examples. A step on these
-- lengths can differ much in work from a step at task.longest, the only length that a plan knows.
--
-- Input: a planned cell. Output: M.of returns { steps, train, passes, eval } for a run: its steps and their operations,
-- and the batches and operations of all its evaluations; nil if the examples are in no file, or if the file does not
-- exist. Operations are counted as in costs.lua.

local axes_module = require("spec.task.axes")
local canonical = require("base.canonical")
local costs = require("plan.deriving.costs")
local evaluation_check = require("lab.study.run.evaluation_check")
local data_shapes = require("lab.study.read.data_shapes")
local lists = require("base.lists")
local tasks = require("spec.task.tasks")

local M = {}

local function forward(cell, shape)
  return costs.forward(cell.spec.plan, tasks.streams_of(cell.spec.task, shape.input, shape.output))
end

-- The batches of an epoch and the operations of their steps. All examples of a batch have the same shape.
local function epoch_of(cell, found)
  local batch, batches, sum = cell.spec.resolved.train.batch, 0, 0
  for _, shape in ipairs(found.shapes) do
    batches = batches + (shape.count + batch - 1) // batch
    sum = sum + 3 * shape.count * forward(cell, shape)
  end
  return batches, sum
end

-- The axes of an evaluation, without noise and without the axis for examples of training.
local function axes_of(by)
  return lists.filter(canonical.sorted_keys(by or { length = true }), function(name)
    return name ~= axes_module.NOISE and name ~= axes_module.TRAINED
  end)
end

-- Batches and operations of one evaluation of these examples, with at most `most` of each condition.
local function evaluation_of(cell, found, most)
  local of_group, passes, sum = {}, 0, 0
  for _, shape in ipairs(found.groups) do
    of_group[shape.group] = (of_group[shape.group] or 0) + shape.count
  end
  for _, shape in ipairs(found.groups) do
    local share = most == "all" and 1 or math.min(1, most / of_group[shape.group])
    passes, sum = passes + 1, sum + share * shape.count * forward(cell, shape)
  end
  return passes, sum
end

local function add_evaluations(cell, work, section, times)
  local files = cell.spec.data_files
  for _, set in ipairs(evaluation_check.sets(section.splits, files)) do
    local file = files[set.field]
    local found = file and data_shapes.of(file.real, axes_of(section.by))
    if found then
      local passes, sum = evaluation_of(cell, found, section.examples)
      work.passes, work.eval = work.passes + times * passes, work.eval + times * sum
    end
  end
end

function M.of(cell)
  local resolved, file = cell.spec.resolved, cell.spec.data_files.data
  local found = file and data_shapes.of(file.real, axes_of(nil))
  if not found or found.count == 0 then
    return nil
  end
  local train, eval = resolved.train, resolved.eval
  local batches, epoch = epoch_of(cell, found)
  local steps = train.steps or train.epochs * batches
  local work = { steps = steps, train = epoch * steps / batches, passes = 0, eval = 0 }
  local noises = eval.by and eval.by.noise and #eval.by.noise.list or 1
  add_evaluations(cell, work, eval, noises * (cell.spec.plan.any_draws and eval.draws or 1))
  if eval.during then
    local unit = train.cadence == "epochs" and batches or 1
    add_evaluations(cell, work, eval.during, steps // (eval.during.every * unit))
  end
  return work
end

return M
