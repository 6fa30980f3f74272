-- Facet `additive`: what is added to the vectors of tokens, and the dropout behind it.
--
-- Input: the resolved encoding, the task's facts. Output: kind, dropout rate or nil, in_blocks: added to the input of
-- every block, else to the vectors of tokens; of a sinusoid interleaved: sines in
-- even channels, grid: tokens of a row of the task's grid, where positions are its cells, or false, and member: of the
-- tables of positions, which for other forms than Ruoss et al.'s is one of its own; of a learned table rows, first
-- values { kind, value }, frozen: whether training leaves them as they are.

local M = {}

function M.plan(encoding, task)
  local additive = encoding.additive
  if additive.kind == "none" then
    return { kind = "none", frozen = false, in_blocks = false, member = false, grid = false }
  end
  local sinusoid, learned = additive.kind == "sinusoid", additive.kind == "learned"
  local interleaved, grid = additive.channels == "interleaved", sinusoid and encoding.positions.kind == "grid"
  return {
    kind = additive.kind,
    in_blocks = additive.at == "block",
    interleaved = interleaved,
    grid = grid and task.grid or false,
    member = sinusoid and ((interleaved or grid) and "place" or "sinusoid"),
    place_words = (grid and "column and row: " or "") .. (interleaved and "sine, cosine, ..." or "sines, then cosines"),
    rows = additive.rows,
    first = learned and { kind = additive.init or "truncated_normal", value = additive.init_sigma } or nil,
    frozen = additive.learned == false,
    dropout_rate = additive.dropout,
  }
end

return M
