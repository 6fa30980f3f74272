-- Rules about encodings by layer (encoding.layers).
--
-- Input: a context of validate.lua; report (reports.lua). Output: errors.

local families = require("spec.families")

local M = {}

-- Checks that entries are numbered without gaps; only specs that state entries by number can fail.
local function check_numbers(encoding, report)
  local count = #families.list_layers(encoding)
  for i = 1, math.max(count, 2) do
    if count > 0 and not encoding[families.LAYERS[i]] then
      return report.add({ "encoding." .. families.LAYERS[i] }, { what = "is missing", expected = families.LAYERS_TEXT })
    end
  end
end

function M.check(context, report)
  local resolved = context.resolved
  local encoding, model = resolved.encoding, resolved.model
  check_numbers(encoding, report)
  local list = families.list(model, encoding) and encoding.layer1 and families.list_layers(encoding) or {}
  if not list[2] then
    return
  elseif model.source then
    report.refuse("encoding.layer1", "model.source", ("%q"):format(model.source), {
      what = "a network of your own numbers its layers itself", expected = "one encoding for all layers" })
  elseif model.layers and model.layers % list[1].period ~= 0 then
    report.refuse("model.layers", "encoding.layer1", "the first of the encodings by layer", {
      what = ("%d layers do not repeat the %d layers of encoding.layers whole"):format(model.layers, list[1].period),
      expected = ("a multiple of %d, or a list as long as the model"):format(list[1].period) })
  end
  for _, entry in ipairs(list) do
    local positions = families.make_encoding(encoding, entry.name).positions
    if positions and positions.kind == "randomized" then
      return report.add({ "encoding.positions.kind", ("encoding.%s.positions.kind"):format(entry.name) }, {
        what = "random positions cannot be used with encodings by layer", expected = "index" })
    end
  end
end

return M
