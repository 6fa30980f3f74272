-- Facet `additive`: what is added to the vectors of tokens, and the dropout behind it.
--
-- Input: the resolved encoding and model, the task's facts. Output: kind, embedding_rate: dropout of the vectors of
-- tokens, with what is added to them, or nil; in_blocks: added to the input of every block, there dropped out at
-- dropout_rate; of a sinusoid interleaved: sines in even channels, grid: tokens of a row of the task's grid, where
-- positions are its cells, or false, period: of positions that come again, or false, and member: of the tables of
-- positions, which for other forms than Ruoss et al.'s is one of its own; of a learned table rows, first values { kind,
-- value }, frozen: whether training leaves them as they are.

local M = {}

function M.plan(encoding, model, task)
  local additive, in_blocks = encoding.additive, encoding.additive.at == "block"
  if additive.kind == "none" then
    return { kind = "none", embedding_rate = model.embedding_dropout, frozen = false, in_blocks = false, member = false,
      grid = false, period = false }
  end
  local sinusoid, learned = additive.kind == "sinusoid", additive.kind == "learned"
  local interleaved, grid = additive.channels == "interleaved", sinusoid and encoding.positions.kind == "grid"
  local period = sinusoid and encoding.positions.period or false
  return {
    kind = additive.kind,
    in_blocks = in_blocks,
    interleaved = interleaved,
    grid = grid and task.grid or false,
    period = period,
    member = sinusoid and ((interleaved or grid or period) and "place" or "sinusoid"),
    place_words = (grid and "column and row: " or period and ("of the position modulo %d: "):format(period) or "")
      .. (interleaved and "sine, cosine, ..." or "sines, then cosines"),
    rows = additive.rows,
    first = learned and { kind = additive.init or "truncated_normal", value = additive.init_sigma } or nil,
    frozen = additive.learned == false,
    dropout_rate = in_blocks and additive.dropout or nil,
    embedding_rate = in_blocks and model.embedding_dropout or not in_blocks and additive.dropout or nil,
  }
end

return M
