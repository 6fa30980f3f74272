-- Lines of Python that compute positions and distances, for templates/python.
--
-- Input: the facet `positions` of a family and the needs of attentions (facets.lua); or the streams of a network.
-- Output: the lines by their place in the file, and facts about sampled positions.

local lists = require("base.lists")

local M = {}

-- Adds the facts about sampled positions: their range, whether they start at 1, and their order.
local function add_draws(facts, positions)
  local distance = positions.distance
  local drawn = facts.draws_positions and positions or facts.draws_distances and distance
  facts.max_position = drawn and drawn.range
  facts.one_based = drawn and drawn.max_position > drawn.range or false
  facts.range_words = facts.one_based and "from 1 to MAX_POSITION" or "below MAX_POSITION"
  facts.sorted_words = positions.sorted and ", ascending" or ""
  facts.sort_text = positions.sorted and ".sort().values" or ""
  facts.position_text = facts.one_based and "(1 + torch.randperm(MAX_POSITION, device=tokens.device))"
    or "torch.randperm(MAX_POSITION, device=tokens.device)"
  facts.distance_text = ("torch.randperm(MAX_POSITION%s, device=tokens.device)"):format(
    facts.one_based and "" or " - 1")
  facts.clamped, facts.independent = distance.kind == "clamped", distance.independent or false
end

-- Returns the line that numbers tokens from 0 on.
local function count_of(place, tokens)
  return ("%s = torch.arange(%s.shape[1], device=%s.device)"):format(place, tokens, tokens)
end

-- Lines for positions and distances: before_layers runs once, in_layers before each layer; and whether they are
-- sampled. positions: the facet; needs: those of all attentions; additive: whether the input gets positions.
function M.sources(positions, needs, additive)
  local distance, lines, inner = positions.distance, {}, {}
  local drawn = distance.kind == "drawn" or distance.kind == "clamped"
  local random, by_sequence = positions.kind ~= "index", positions.kind == "sequence"
  local make = random and "place = draw_positions(tokens, positions)" or count_of("place", "tokens")
  local anew = random and not by_sequence and positions.layer_index ~= "0"
  local in_layers = needs.positions or needs.distance and not drawn
  if additive or in_layers and not anew then
    lines[#lines + 1] = make
  end
  if in_layers and anew then
    inner[#inner + 1] = make
  end
  if needs.distance and drawn then
    table.insert(distance.layer_index == "0" and lines or inner,
      "distance = pair_distances(draw_distances(tokens, distances))")
  elseif needs.distance then
    table.insert(anew and inner or lines, "distance = place - place[:, None]")
  end
  local facts = { before_layers = lines, in_layers = inner,
    draws_positions = random and (additive or in_layers) and true or false,
    draws_distances = needs.distance and drawn or false, by_sequence = by_sequence }
  add_draws(facts, positions)
  return facts
end

-- Lines for positions and distances in a network of two streams, whose positions are token numbers. made: variables
-- that the network's forward pass reads (classes.lua).
function M.of_streams(streams, made)
  local lines, distances = {}, {}
  for i, stream in ipairs(streams) do
    local place, other = stream.name .. "_place", streams[3 - i].name .. "_place"
    local read = made.distance[stream] or made.memory_distance[stream] or made.memory_distance[streams[3 - i]]
    if made.place[stream] or read then
      lines[#lines + 1] = count_of(place, stream.name)
    end
    for what, keys in next, { distance = place, memory_distance = other } do
      local name = made[what][stream]
      distances[#distances + 1] = name and ("%s = %s - %s[:, None]"):format(name, keys, place) or nil
    end
  end
  table.sort(distances)
  return { before_layers = lists.append(lines, distances), in_layers = {}, draws_positions = false,
    draws_distances = false, by_sequence = false, max_position = false, one_based = false }
end

return M
