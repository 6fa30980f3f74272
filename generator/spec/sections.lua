-- How a section of a spec is laid upon its parent, or what --set gives upon the section.
--
-- Input: the section's name, two trees. Output: a new tree, as tree.merge makes it, but for what fields say together: a
-- task that is chosen in another way (kind, source, data) replaces the parent's, steps replace epochs and the other way
-- round, and a score replaces the parent's with its parameters (spec/score/entries.lua).

local entries = require("spec.score.entries")
local tree = require("spec.tree")

local M = {}

-- Fields of which a task has one.
M.TASK_CHOICES = { "kind", "source", "data" }

local function lay_task(base, over)
  for _, choice in ipairs(M.TASK_CHOICES) do
    if over.fields[choice] and not base.fields[choice] then
      return over
    end
  end
  return tree.merge(base, over)
end

local function lay_train(base, over)
  local merged = tree.merge(base, over)
  local steps, epochs = over.fields.steps, over.fields.epochs
  merged.fields.steps = steps or not epochs and base.fields.steps or nil
  merged.fields.epochs = epochs or not steps and base.fields.epochs or nil
  return merged
end

local LAY = { encoding = entries.lay, task = lay_task, train = lay_train }

function M.lay(section, base, over)
  if not tree.is_table(base) or not tree.is_table(over) then
    return over
  end
  return (LAY[section] or tree.merge)(base, over)
end

return M
