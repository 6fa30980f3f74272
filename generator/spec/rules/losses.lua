-- The labels in the loss: all of them, or only those that count (mask 1).
--
-- Input: the context of validate.lua with the resolved task, the node of that section, a task's facts with `mask`, what
-- its header says (task_lines.lua). Output: facts.loss, "all" or "counted", nil where the task masks no label; out of
-- the resolved task goes what was so before there was a choice: "counted" of files, "all" of samplers. Errors go to the
-- diagnostics.

local features = require("spec.rules.features")
local values = require("spec.values")

local M = {}

function M.settle(context, given, facts)
  local task, node = context.resolved.task, given.fields.loss
  local in_files = facts.data and not facts.data.made
  local model = features.is_causal(context.resolved) and "other" or "encoder"
  local usual = in_files and "counted" or facts.mask and facts.mask[model]
  if not usual and node and not values.drops(context, node, "task.loss") then
    values.add(context, node, "task.loss", ("%s masks no label"):format(facts.kind),
      "a task that does: task.data, or a C file with a line `mask: loss` or `mask: accuracy` in its header")
  end
  facts.loss = usual and (task.loss or usual)
  task.loss = usual and facts.loss ~= (in_files and "counted" or "all") and facts.loss or nil
end

return M
