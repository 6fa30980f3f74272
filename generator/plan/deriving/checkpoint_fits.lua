-- Checks the first checkpoint, with which runs begin: it must fit the model. The trainer repeats this check later.
--
-- Input: a plan with its tensors and digests, the facts of first_checkpoint.lua. Output: none. A difference raises an
-- error { problem = true, field = "init", what, expected, hint }.

local M = {}

function M.check(plan, init)
  local owner = init.id and (" (a checkpoint of %s)"):format(init.id) or ""
  local function refuse(message, expected, hint)
    error({ problem = true, field = "init", what = ("%s: %s%s"):format(init.shown, message, owner), expected = expected,
      hint = hint })
  end
  for _, tensor in ipairs(plan.tensors) do
    local entry, expected = init.entries[tensor.name], table.concat(tensor.shape, ", ")
    local shape = entry and table.concat(entry.shape, ", ")
    if shape ~= expected then
      refuse(shape and ("%s has shape [%s]"):format(tensor.name, shape) or tensor.name .. " is missing",
        ("[%s], as the model of this spec has it"):format(expected))
    end
  end
  if init.model_digest and init.model_digest ~= plan.model_digest then
    refuse("its model digest is " .. init.model_digest, plan.model_digest,
      "tensors and shapes agree, but heads, the encoding, the mask or the meaning of tokens differ")
  end
end

return M
