-- Resolved encodings and planned families, for tests of facets.

require("facets.modules") -- facets register their uses of positions and distances

local M = {}

M.LAYERS = 3
M.BARE = { layers = M.LAYERS } -- a family before its facets are planned

-- The planned positions of facets/positions.lua if they are indices and no facet uses distances.
M.INDICES = { kind = "index", distance = { kind = "none" } }

-- Returns a family of two heads with planned positions, as the other facets receive it.
function M.make_family(positions, head_width)
  return { layers = M.LAYERS, heads = 2, head_width = head_width or 8, positions = positions, PREFIX = "" }
end

-- Returns an encoding with these kinds of additive, rotation and positions. draw: how often random positions are drawn,
-- "pass", "layer" or "sequence".
function M.make_encoding(additive, rotation, kind, draw)
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

-- Returns an encoding with vectors of distances (relative). reading: "index" for positions that are indices; for random
-- positions the field positions.reading, by which distances are sampled or computed; kind: the kind of relative, by
-- default "transformer_xl".
function M.make_relative_encoding(additive, rotation, draw, reading, kind)
  local spec = M.make_encoding(additive, rotation, reading == "index" and "index" or "randomized", draw)
  spec.relative = { kind = kind or "transformer_xl", clip = kind == "shaw" and 4 or nil }
  spec.positions.reading = reading ~= "index" and reading or nil
  return spec
end

return M
