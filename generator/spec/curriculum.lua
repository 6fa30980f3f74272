-- Stages of a curriculum (train.lengths.curriculum), in which the first steps of training have only short lengths.
--
-- Input of M.read: a node; add(node, path, what, expected) takes an error. Output: the list of stages
-- { until_step, max } in ascending order of their steps; nil after errors. A stage lasts from the end of the previous
-- stage to until_step; its steps have lengths up to max. M.weigh computes the expected number of steps of each length.

local common = require("spec.fields.common")
local lists = require("base.lists")
local locate = require("spec.reading.locate")
local tree = require("spec.reading.tree")

local M = {}

M.TEXT = "{ { until_step = 1000, max = 10 }, ... }, by ascending steps; until_step: the number of training steps until "
  .. "a stage ends; max: the largest length of its examples"

local FIELDS = { "until_step", "max" }

-- An integer from 1, or nil after an error.
local function read_integer(node, path, add)
  return tree.get_integer(node, 1, common.MAX_INTEGER)
    or add(node, path, tree.show(node) .. " does not fit here", ("an integer from 1 to %d"):format(common.MAX_INTEGER))
end

local function read_stage(node, path, add)
  if not tree.is_record(node) or tree.iterate_others(node, FIELDS)() then
    return add(node, path, tree.show(node) .. " does not fit here", "{ until_step = 1000, max = 10 }")
  end
  local stage = {}
  for _, name in ipairs(FIELDS) do
    local value = node.fields[name]
    if not value then
      return add(node, path .. "." .. name, "is missing", "{ until_step = 1000, max = 10 }")
    end
    stage[name] = read_integer(value, path .. "." .. name, add)
  end
  return stage.until_step and stage.max and stage
end

function M.read(node, path, add)
  if not tree.is_list(node) then
    return add(node, path, tree.show(node) .. " does not fit here", M.TEXT)
  end
  local stages = {}
  for i, item in ipairs(node.items) do
    local item_path, previous = locate.join(path, i), stages[i - 1]
    local stage = read_stage(item, item_path, add)
    if not stage then
      return nil
    elseif previous and stage.until_step <= previous.until_step then
      return add(item.fields.until_step, item_path .. ".until_step", ("%d follows %d"):format(stage.until_step,
        previous.until_step), "ascending steps")
    end
    stages[i] = stage
  end
  return stages
end

-- Returns a list of weights, the expected number of steps with each length; and the sum of the weights. Without stages
-- all weights are 1. stages: the result of M.read, or nil; lengths: the training lengths, ascending.
function M.weigh(stages, lengths, steps)
  local weights, first_step = lists.map(lengths, function() return stages and 0 or 1 end), 0
  if not stages then
    return weights, #lengths
  end
  for _, stage in ipairs(lists.join(stages, { { until_step = steps, max = lengths[#lengths] } })) do
    local length_count = lists.count(lengths, function(n) return n <= stage.max end)
    local last_step = math.min(stage.until_step, steps)
    for i = 1, length_count do
      weights[i] = weights[i] + (last_step - first_step) / length_count
    end
    first_step = last_step
  end
  return weights, steps
end

return M
