-- Facet `positions`: where each token stands, and how far apart the tokens of a pair are.
--
-- Input: the resolved encoding, the family's layers, whether the input draws apart. Output: what the templates need to
-- draw positions, or { kind = "index" }, also of a grid, which only tables of sinusoids know, of positions that come
-- again after `period`, which tables of positions have, and where positions would be drawn that nothing reads; and in
-- `distance` the signed distances of pairs.
-- A draw has an index in the shared table of draws and a site in the counter: 0 for what the whole pass shares,
-- l + 1 for block l. Additive encodings share one draw; rotation and distances draw per layer unless the spec says
-- "pass" (Ruoss et al. 2023, released code). Of several streams each has draws, and sites, of its own; what is added
-- to their embeddings, which is no family's, draws for itself (M.input): a draw is a function of its site and its
-- range, so that those who share both have the same positions.
--
-- Where positions are drawn:
--   kind           "randomized"; "sequence" where every sequence of the batch has a draw of its own, in the workspace
--   range          L, how many there are to draw from
--   first          the least of them, 0 or 1
--   max_position   behind the last of them: tables of positions have so many rows
--   first_text, range_text   C text of the first two
--   sorted, sorted_text
--   draws          rows of shared->position, and of shared->key_position where queries and keys are of two streams
--   site_offset    C text: what is added to a draw's index for its site
--   layer_index    C text: the draw of block l
--   per_layer      every block has a draw of its own; input_first: behind the input's, which then is draw 0
--   about          words
-- (of kind "sequence": no draws, site_offset, layer_index)
-- distance.kind: whatever reads distances (relative, score) goes by it:
--   "none"         nothing reads them
--   "index"        key - query
--   "difference"   of drawn positions, those of draw layer_index
--   "drawn", "clamped"   of the ascending draw shared->distance[distance.layer_index], by the function drawn_distance
--                  of templates/parts/drawn_distance.tpl; then also
--   distance.max_position, draws, site_offset, layer_index, per_layer, about: as above, at a place of their own in the
--                  counter
--   distance.independent   the left side has draws of its own: distances lie from -(T - 1) to T - 1, signed, and the
--                          first to the right is element max_position

local M = {}

-- The facets that read distances; another one is another line here.
local function reads_distances(encoding)
  return encoding.relative.kind ~= "none" or encoding.score ~= nil
end

local function is_one_based(positions)
  return positions.range == "one_based"
end

local function behind_last(positions)
  return positions.max_position + (is_one_based(positions) and 1 or 0)
end

local function drawn_distances(positions, layers)
  local per_layer = positions.draw == "layer"
  local independent = positions.sides == "independent" and positions.reading == "drawn"
  return {
    kind = positions.reading,
    independent = independent,
    range = positions.max_position,
    max_position = behind_last(positions),
    draws = per_layer and layers or 1,
    site_offset = per_layer and " + 1" or "",
    layer_index = per_layer and "l" or "0",
    per_layer = per_layer,
    about = per_layer and "one for each layer" or "shared by the whole pass",
  }
end

local function plan_distances(encoding, layers)
  if not reads_distances(encoding) or encoding.positions.draw == "sequence" then -- rules.lua: then nothing reads them
    return { kind = "none" }
  elseif encoding.positions.kind ~= "randomized" then
    return { kind = "index" }
  elseif encoding.positions.reading == "difference" then
    return { kind = "difference" }
  end
  return drawn_distances(encoding.positions, layers)
end

-- What positions are drawn from, and how.
local function drawn_positions(positions)
  return {
    range = positions.max_position,
    first = is_one_based(positions) and 1 or 0,
    first_text = is_one_based(positions) and "FIRST_POSITION" or "0",
    range_text = is_one_based(positions) and "MAX_POSITION - 1" or "MAX_POSITION",
    max_position = behind_last(positions),
    sorted = positions.sorted,
    sorted_text = tostring(positions.sorted),
  }
end

-- Those of what is added to the embeddings of several streams.
function M.input(encoding)
  if encoding.positions.kind ~= "randomized" then
    return { kind = "index" }
  end
  local drawn = drawn_positions(encoding.positions)
  drawn.kind = encoding.positions.draw == "sequence" and "sequence" or "randomized"
  return drawn
end

function M.plan(encoding, layers, apart)
  local positions = encoding.positions
  local distance = plan_distances(encoding, layers)
  local added, in_blocks = not apart and encoding.additive.kind ~= "none", encoding.additive.at == "block"
  local input = added and not in_blocks
  local in_layers = added and in_blocks or encoding.rotation.kind ~= "none" or distance.kind == "difference"
  if positions.kind ~= "randomized" or not input and not in_layers then
    return { kind = "index", distance = distance, period = positions.period }
  end
  local drawn = drawn_positions(positions)
  drawn.distance = distance
  if positions.draw == "sequence" then
    drawn.kind, drawn.about = "sequence", "one for each sequence of the batch"
    return drawn
  end
  local per_layer = in_layers and positions.draw == "layer"
  local shared = input or not per_layer
  local about = shared and per_layer and "the input's, then one for each layer" or per_layer and "one for each layer"
    or "shared by the whole pass"
  drawn.kind, drawn.about = "randomized", about
  drawn.draws = (shared and 1 or 0) + (per_layer and layers or 0)
  drawn.site_offset = shared and "" or " + 1"
  drawn.per_layer, drawn.input_first = per_layer, per_layer and shared
  drawn.layer_index = not per_layer and "0" or shared and "l + 1" or "l"
  return drawn
end

return M
