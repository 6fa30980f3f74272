-- Facet `mask`: which keys a query sees, by the indices of both.
--
-- Input: the resolved encoding; whether no query may see what is behind it, whatever the encoding says. Output:
-- { kind = "none" } where all are seen; else kind "causal" or "window", left and right: how many keys before and behind
-- the query are seen (left is nil where that has no limit), and about.

local M = {}

function M.plan(encoding, causal)
  local mask = encoding.mask
  if not mask and not causal then
    return { kind = "none" }
  elseif not mask or mask.kind == "causal" then
    return { kind = "causal", right = 0, about = "queries see themselves and the keys before them" }
  elseif causal then
    return { kind = "window", left = mask.left, right = 0,
      about = ("queries see themselves and %d keys before them"):format(mask.left) }
  end
  return { kind = "window", left = mask.left, right = mask.right,
    about = ("queries see themselves, %d keys before and %d behind them"):format(mask.left, mask.right) }
end

return M
