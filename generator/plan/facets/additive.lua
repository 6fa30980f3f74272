-- Facet `additive`: what is added to the token embedding, and the dropout behind it.
--
-- Input: the resolved encoding. Output: kind, rows of a learned table and its initial sd, dropout rate or nil.

local M = {}

function M.plan(encoding)
  local additive = encoding.additive
  if additive.kind == "none" then
    return { kind = "none" }
  end
  return {
    kind = additive.kind,
    rows = additive.rows,
    init_sigma = additive.init_sigma,
    dropout_rate = additive.dropout,
  }
end

return M
