-- Facet `mask`: which keys a query sees, by the indices of both, and what its scores gain where lines say it.
--
-- Input: the resolved encoding, the family so far. Output: kind, and about, which is absent where all are seen:
--   none
--   causal, window   left and right: how many keys before and behind the query are seen (left is nil where that has no
--                    limit)
--   antidiagonal     query i of S keys sees those from S + low - stride i to S + high - stride i, of those that there
--                    are, or all where there are none; width and left_only as the spec has them
--   lines            as lines.lua has them
-- sees_all: a query that nothing is open to sees all. Of lines, causal says that what is behind a query stays hidden.

local lines_facet = require("facets.lines")

local M = {}

local function antidiagonal(mask)
  local high = mask.left_only and -1 or mask.width - 1
  local sides = mask.left_only and "to the left" or "on both sides"
  return { kind = "antidiagonal", stride = mask.stride, width = mask.width, left_only = mask.left_only,
    low = -mask.stride - mask.width, high = high, sees_all = true,
    about = ("queries see the anti-diagonal, %s for each, and %s %s"):format(
      mask.stride == 1 and "one key" or mask.stride .. " keys", mask.width == 1 and "one" or mask.width, sides) }
end

function M.plan(encoding, family)
  local mask, causal = encoding.mask, family.causal
  if encoding.lines then
    local lines = lines_facet.plan(encoding, family, causal or mask ~= nil and mask.kind == "causal")
    if lines then
      return lines
    end
  end
  if not mask and not causal then
    return { kind = "none" }
  elseif not mask or mask.kind == "causal" then
    return { kind = "causal", right = 0, about = "queries see themselves and the keys before them" }
  elseif mask.kind == "antidiagonal" then
    return antidiagonal(mask)
  elseif causal then
    return { kind = "window", left = mask.left, right = 0,
      about = ("queries see themselves and %d keys before them"):format(mask.left) }
  end
  return { kind = "window", left = mask.left, right = mask.right, sees_all = family.cross,
    about = ("queries see themselves, %d keys before and %d behind them"):format(mask.left, mask.right) }
end

return M
