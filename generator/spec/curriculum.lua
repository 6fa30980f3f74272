-- Reads the stages of a curriculum (train.lengths.curriculum): the first steps of training have only short lengths.
--
-- Input: a node; add(node, path, what, expected) takes an error. Output: the list of stages { until_step, max } in
-- ascending order of their steps; nil after errors.

local common = require("spec.fields.common")
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
    local at, before = locate.join(path, i), stages[i - 1]
    local stage = read_stage(item, at, add)
    if not stage then
      return nil
    elseif before and stage.until_step <= before.until_step then
      return add(item.fields.until_step, at .. ".until_step", ("%d follows %d"):format(stage.until_step,
        before.until_step), "ascending steps")
    end
    stages[i] = stage
  end
  return stages
end

return M
