-- Facet `normaliser`: how scores become weights.
--
-- Input: the resolved encoding, the model's sizes. Output: kind, the template of attention on the CPU; for geometric:
--   normalised       the weights of a query are divided by their sum
--   directional      keys to the right and to the left gain what a learned map of the layer's input says
--   direction_width  columns of that map, (right, left) head after head, rounded up to the widest vector
--   fill             of the learned numbers of a layer up to whole vectors

local M = {}

local WIDEST_VECTOR = 16

function M.plan(encoding, model)
  local normaliser = encoding.normaliser
  if not normaliser then
    return { kind = "softmax", template = "cpu/attention.inc.tpl" }
  end
  local directional = normaliser.directional
  return {
    kind = "geometric",
    template = "cpu/attention_geometric.inc.tpl",
    normalised = normaliser.normalised,
    directional = directional,
    direction_width = directional and (2 * model.heads + WIDEST_VECTOR - 1) // WIDEST_VECTOR * WIDEST_VECTOR,
    fill = WIDEST_VECTOR - (directional and 3 or 2),
  }
end

return M
