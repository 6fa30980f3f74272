-- Facet `additive`: what is added to the token embedding, and the dropout behind it.
--
-- Input: the resolved encoding and model. Output: kind, rows of a learned table, its initial sd, dropout rate or nil.

local M = {}

function M.plan(encoding, model)
  local additive = encoding.additive
  if additive.kind == "none" then
    return { kind = "none", dropout_rate = model.embedding_dropout }
  end
  return {
    kind = additive.kind,
    rows = additive.rows,
    init_sigma = additive.init_sigma,
    dropout_rate = additive.dropout,
  }
end

return M
