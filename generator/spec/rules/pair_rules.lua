-- Rules between fields about which pairs of tokens see each other, and about positions that come again.
--
-- Input: a context of holders.lua; add(context, paths, record) and note(context, path, value) of rules.lua. Output:
-- errors. Invariants: those of rules.lua.

local features = require("spec.rules.features")

local M = {}

local function in_text(value)
  return type(value) == "table" and "{ ... }" or ("%q"):format(value)
end

-- An error at `path`, with a note on what it does not go with.
local function refuse(seen, path, other, what, expected)
  local value = features.value_at(seen.resolved, other)
  seen.add(seen, { path, other }, { what = what, expected = expected,
    notes = { seen.note(seen, other, in_text(value)) } })
end

-- The line goes to keys that a decoder's query does not see.
local function antidiagonal(seen)
  local mask, kind = seen.resolved.encoding.mask, seen.resolved.model.kind
  if not mask or mask.kind ~= "antidiagonal" then
    return
  end
  for _, name in ipairs(seen.holds_for) do
    if name == "decoder" or kind == "decoder" then
      refuse(seen, "encoding.mask.kind", "model.kind", "the first query of a decoder does not see the last key, where "
        .. "the line begins", kind == "encoder_decoder" and 'encoding.cross = { mask = { kind = "antidiagonal" } }, '
        .. "the decoder's attention to the encoder" or '"window" or "causal"')
      return
    end
  end
end

-- Lines are a mask.
local function lines(seen)
  local encoding = seen.resolved.encoding
  if encoding.lines and encoding.mask and encoding.mask.kind ~= "full" and encoding.mask.kind ~= "causal" then
    refuse(seen, "encoding.mask.kind", "encoding.lines", "a mask beside lines, which say themselves what a "
      .. "query sees", '"full", or "causal": then what is behind the query stays hidden')
  end
end

-- What would read a position as more than a name of its token.
local function cyclic(seen)
  local encoding, kind = seen.resolved.encoding, "encoding.positions.kind"
  if not encoding.positions or encoding.positions.kind ~= "cyclic" then
    return
  end
  if encoding.additive.kind == "learned" then
    refuse(seen, "encoding.additive.kind", kind, "a learned table has a vector of its own for every index",
      '"sinusoid", or positions by index')
  end
  if (encoding.relative.kind or "none") ~= "none" then
    refuse(seen, "encoding.relative.kind", kind, "vectors are those of a distance, and positions that come again have "
      .. "none", '"none", or positions by index')
  end
  if features.score_reads_positions(seen.resolved) then
    refuse(seen, "encoding.score", kind, "the score reads x.distance, x.query or x.key, and positions that come again "
      .. "have no distance", "x.query_index and x.key_index, or positions by index")
  end
end

function M.check(context, add, note)
  local seen = setmetatable({ add = add, note = note }, { __index = context })
  antidiagonal(seen)
  lines(seen)
  cyclic(seen)
end

return M
