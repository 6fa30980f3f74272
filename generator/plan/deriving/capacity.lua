-- Finds the capacity of a recurrent model's memory, and the task lengths that exceed it.
--
-- Input: a plan; the task's header. Output: the field `capacity` of the plan, false without a memory:
--   kind        "stack" or "tape"
--   cells       the number of cells; false without a limit
--   excess_length   the least task length of the spec that uses more cells; false if there is none
--   has_named_lengths   whether the spec names task lengths; false if dataset files determine the lengths
-- A sequence of T tokens can use T / 2 cells of a stack, since a cell that is pushed deeper than T / 2 cells cannot
-- return to the top before the sequence ends. A tape needs a cell for each token of the input.

local tasks = require("spec.task.tasks")

local M = {}

function M.derive(plan, facts)
  local model = plan.resolved.model
  local kind = (model.cell or ""):match("^(.*)_rnn$")
  if not kind then
    return { capacity = false }
  end
  local function count_used_cells(n)
    return kind == "stack" and tasks.count_longest_stream(facts, n) // 2 or tasks.compute_length(facts.input_length, n)
  end
  local excess_length = false
  for _, n in ipairs(model.cells and not facts.data and tasks.list_named_lengths(plan.resolved) or {}) do
    if count_used_cells(n) > model.cells then
      excess_length = math.min(excess_length or n, n)
    end
  end
  return { capacity = { kind = kind, cells = model.cells or false, excess_length = excess_length,
    has_named_lengths = not facts.data } }
end

return M
