-- Stages of a curriculum (train.lengths.curriculum): the first steps of training have only short lengths.
--
-- Input of M.read: a node; add(node, path, what, expected) takes an error. Output: the list of stages
-- { until_step, max } in ascending order of their steps; nil after errors. M.weigh computes how often lengths occur.

local common = require("spec.fields.common")
local lists = require("base.lists")
local locate = require("spec.reading.locate")
local tree = require("spec.reading.tree")

local M = {}

M.TEXT = "{ { until_step = 1000, max = 10 }, ... }: ascending steps, each with the largest length before it"

local FIELDS = { "until_step", "max" }

-- An integer from 1, or nil after an error.
local function read_integer(node, path, add)
  return tree.get_integer(node, 1, common.MOST)
    or add(node, path, tree.show(node) .. " does not fit here", ("an integer from 1 to %d"):format(common.MOST))
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
    local item_path, before = locate.join(path, i), stages[i - 1]
    local stage = read_stage(item, item_path, add)
    if not stage then
      return nil
    elseif before and stage.until_step <= before.until_step then
      return add(item.fields.until_step, item_path .. ".until_step", ("%d follows %d"):format(stage.until_step,
        before.until_step), "ascending steps")
    end
    stages[i] = stage
  end
  return stages
end

-- Returns a weight for each of the training lengths in the ascending list, in proportion to its expected share of the
-- steps, and the sum of the weights. stages: from M.read, nil for equal shares.
function M.weigh(stages, lengths, steps)
  local weights, from = lists.map(lengths, function() return stages and 0 or 1 end), 0
  if not stages then
    return weights, #lengths
  end
  for _, stage in ipairs(lists.join(stages, { { until_step = steps, max = lengths[#lengths] } })) do
    local allowed = lists.count(lengths, function(n) return n <= stage.max end)
    local last = math.min(stage.until_step, steps)
    for i = 1, allowed do
      weights[i] = weights[i] + (last - from) / allowed
    end
    from = last
  end
  return weights, steps
end

return M
