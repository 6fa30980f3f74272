-- Facet `positions`: where each token stands, and how far apart the tokens of a pair are.
--
-- Input: the resolved encoding. Output: what the templates need to draw positions, or { kind = "index" }, also where
-- positions would be drawn that nothing reads; and in `distance` the signed distances of pairs.
-- A draw has an index in the shared table of draws and a site in the counter: 0 for what the whole pass shares,
-- l + 1 for block l. Additive encodings share one draw; rotation and distances draw per layer unless the spec says
-- "pass" (Ruoss et al. 2023, released code).
--
-- Where positions are drawn:
--   kind           "randomized"
--   max_position   L: positions are 0 .. L - 1
--   sorted, sorted_text
--   draws          rows of shared->position
--   site_offset    C text: what is added to a draw's index for its site
--   layer_index    C text: the draw of block l
--   about          words
-- distance.kind: whatever reads distances (relative, score) goes by it:
--   "none"         nothing reads them
--   "index"        key - query
--   "difference"   of drawn positions, those of draw layer_index
--   "drawn", "clamped"   of the ascending draw shared->distance[distance.layer_index], by the function drawn_distance
--                  of templates/parts/positions.tpl; then also
--   distance.max_position, draws, site_offset, layer_index, about: as above, at a place of their own in the counter

local M = {}

-- The facets that read distances; another one is another line here.
local function reads_distances(encoding)
  return encoding.relative.kind ~= "none" or encoding.score ~= nil
end

local function drawn_distances(positions, layers)
  local per_layer = positions.draw == "layer"
  return {
    kind = positions.reading,
    max_position = positions.max_position,
    draws = per_layer and layers or 1,
    site_offset = per_layer and " + 1" or "",
    layer_index = per_layer and "l" or "0",
    about = per_layer and "one for each layer" or "shared by the whole pass",
  }
end

local function plan_distances(encoding, layers)
  if not reads_distances(encoding) then
    return { kind = "none" }
  elseif encoding.positions.kind == "index" then
    return { kind = "index" }
  elseif encoding.positions.reading == "difference" then
    return { kind = "difference" }
  end
  return drawn_distances(encoding.positions, layers)
end

function M.plan(encoding, layers)
  local positions = encoding.positions
  local distance = plan_distances(encoding, layers)
  local input = encoding.additive.kind ~= "none"
  local in_layers = encoding.rotation.kind ~= "none" or distance.kind == "difference"
  if positions.kind == "index" or not input and not in_layers then
    return { kind = "index", distance = distance }
  end
  local per_layer = in_layers and positions.draw == "layer"
  local shared = input or not per_layer
  local about = shared and per_layer and "the input's, then one for each layer" or per_layer and "one for each layer"
    or "shared by the whole pass"
  return {
    kind = "randomized",
    max_position = positions.max_position,
    sorted = positions.sorted,
    sorted_text = tostring(positions.sorted),
    draws = (shared and 1 or 0) + (per_layer and layers or 0),
    site_offset = shared and "" or " + 1",
    layer_index = not per_layer and "0" or shared and "l + 1" or "l",
    about = about,
    distance = distance,
  }
end

return M
