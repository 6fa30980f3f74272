-- Facet `normaliser`: how scores become weights.
--
-- Input: the resolved encoding, the family's sizes. Output: kind; templates of attention on the CPU: of what a layer
-- keeps and the room for a head (kept), of attention itself, of its traces; temperature of a softmax, 1 unless given;
-- for geometric:
--   normalised       the weights of a query are divided by their sum
--   directional      keys to the right and to the left gain what a learned map of the layer's input says
--   direction_width  columns of that map, (right, left) head after head, rounded up to the widest vector
--   fill             of the learned numbers of a layer up to whole vectors

local M = {}

local WIDEST_VECTOR = 16

function M.plan(encoding, family)
  local normaliser = encoding.normaliser
  if not normaliser or normaliser.kind == "softmax" then
    return { kind = "softmax", kept = "attention/cpu/attention_kept.tpl", template = "attention/cpu/attention.inc.tpl",
      trace = "attention/cpu/trace_attention.tpl", temperature = normaliser and normaliser.temperature or 1 }
  end
  local directional = normaliser.directional
  return {
    kind = "geometric",
    kept = "attention/cpu/attention_kept_geometric.tpl",
    template = "attention/cpu/attention_geometric.inc.tpl",
    trace = "attention/cpu/trace_attention_geometric.tpl",
    normalised = normaliser.normalised,
    directional = directional,
    direction_width = directional and (2 * family.heads + WIDEST_VECTOR - 1) // WIDEST_VECTOR * WIDEST_VECTOR,
    fill = WIDEST_VECTOR - (directional and 3 or 2),
  }
end

return M
