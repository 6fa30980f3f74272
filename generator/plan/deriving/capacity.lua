-- The capacity of a recurrent model's memory, and the lengths that exceed it.
--
-- Input: a plan; the task's header. Output: capacity, false without a memory: { kind = "stack"; cells, or false without
-- a limit; exceeded: the least task length of the spec at which the capacity shows in the answers, or false }. A
-- sequence of T tokens cannot use more than T / 2 cells of a stack: a deeper cell cannot return to the top.

local lists = require("base.lists")
local tasks = require("spec.task.tasks")

local M = {}

-- The task lengths of training and evaluation; none for dataset files.
local function list_lengths(resolved)
  return lists.collect({ "train.lengths", "eval.lengths", "eval.during.lengths" }, function(path)
    local lengths = lists.get(resolved, path)
    return lengths and tasks.list_lengths(lengths) or {}
  end)
end

function M.derive(plan, facts)
  local model = plan.resolved.model
  if model.cell ~= "stack_rnn" then
    return { capacity = false }
  end
  local exceeded = false
  for _, n in ipairs(model.cells and not facts.data and list_lengths(plan.resolved) or {}) do
    if tasks.count_longest(facts, n) // 2 > model.cells then
      exceeded = math.min(exceeded or n, n)
    end
  end
  return { capacity = { kind = "stack", cells = model.cells or false, exceeded = exceeded } }
end

return M
