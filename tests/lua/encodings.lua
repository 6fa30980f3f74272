-- Resolved encodings for tests of facets.

require("facets.pages") -- facets register their uses of positions and distances

local M = {}

M.LAYERS = 3
M.BARE = { layers = M.LAYERS } -- a family before its facets are planned

-- The positions of a plan, as facets/positions.lua makes them, without random positions and without uses of distances.
M.NOTHING = { kind = "index", distance = { kind = "none" } }

-- A family of two heads with its positions, as other facets receive it.
function M.family(positions, head_width)
  return { layers = M.LAYERS, heads = 2, head_width = head_width or 8, positions = positions, PREFIX = "" }
end

-- An encoding of these kinds of additive, rotation and positions, and a draw of randomized positions.
function M.encoding(additive, rotation, kind, draw)
  local result = { additive = { kind = additive }, rotation = { kind = rotation }, relative = { kind = "none" },
    positions = { kind = kind, reading = kind == "randomized" and "drawn" or nil } }
  if additive ~= "none" then
    result.additive.dropout = 0.1
  end
  if additive == "learned" then
    result.additive.rows, result.additive.init_sigma = 100, 0.5
  end
  if rotation == "rope" then
    result.rotation.base = 10000.0
  end
  if kind == "randomized" then
    result.positions.max_position, result.positions.sorted, result.positions.draw = 100, true, draw
  end
  return result
end

-- An encoding with vectors of distances; reading: "index", or the conversion of random positions to distances.
function M.with_distances(additive, rotation, draw, reading, kind)
  local spec = M.encoding(additive, rotation, reading == "index" and "index" or "randomized", draw)
  spec.relative = { kind = kind or "transformer_xl", clip = kind == "shaw" and 4 or nil }
  spec.positions.reading = reading ~= "index" and reading or nil
  return spec
end

return M
