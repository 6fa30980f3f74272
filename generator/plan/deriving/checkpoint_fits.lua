-- Whether the checkpoint that a run begins with is one of its model.
--
-- Input: a plan with its tensors and digests, the facts of first_checkpoint.lua. Output: none; what does not fit is an
-- error { problem = true, field = "init", what, expected, hint }. The same as a trainer says of it, before there is
-- one.

local M = {}

local function shape_text(shape)
  return "[" .. table.concat(shape, ", ") .. "]"
end

local function refuse(init, what, expected, hint)
  error({ problem = true, field = "init", what = ("%s: %s"):format(init.shown, what), expected = expected,
    hint = hint })
end

function M.check(plan, init)
  local of = init.id and (" (it is of %s)"):format(init.id) or ""
  for _, tensor in ipairs(plan.tensors) do
    local entry = init.entries[tensor.name]
    local found, expected = entry and shape_text(entry.shape), shape_text(tensor.shape)
    if found ~= expected then
      refuse(init, entry and ("%s has shape %s%s"):format(tensor.name, found, of)
        or ("%s is missing%s"):format(tensor.name, of), expected .. ", as the model of this spec has it")
    end
  end
  if init.model_digest and init.model_digest ~= plan.model_digest then
    refuse(init, ("its model digest is %s%s"):format(init.model_digest, of), plan.model_digest,
      "tensors and shapes are the same; heads, the encoding, the mask or what tokens mean are not")
  end
end

return M
