-- Facet `positions`: where each token stands.
--
-- Input: the resolved encoding. Output: what the templates need to draw positions, or { kind = "index" }, also where
-- positions would be drawn that nothing reads.
-- A draw has an index in the shared table of draws and a site in the counter: 0 for what the whole pass shares,
-- l + 1 for block l. Additive encodings share one draw; rotation draws per layer unless the spec says "pass"
-- (Ruoss et al. 2023, released code).

local M = {}

function M.plan(encoding, layers)
  local positions = encoding.positions
  local input = encoding.additive.kind ~= "none"
  if positions.kind == "index" or not input and encoding.rotation.kind == "none" then
    return { kind = "index" }
  end
  local per_layer = encoding.rotation.kind ~= "none" and positions.draw == "layer"
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
  }
end

return M
