-- The facets of attentions as templates/python has them: what each reads, and where positions and distances come from.
--
-- Input: attentions of a network, with families of a plan; the formula of the score. Output: M.of(op, formula):
-- { needs, layer, text }: needs: by name, true or the folder of numbers that all layers share: positions, distance,
-- shared, and where queries and keys are of two streams memory_...; layer: whether it counts layers; text: names of the
-- template. M.places and M.places_of_streams: where positions are made.

local shapes = require("expression.leaves")
local text = require("expression.text")
local torch = require("expression.torch")

local M = {}

-- Sizes of a parameter's tensor as Python writes them.
local function shape_text(p)
  local heads, size = shapes.has_head(p) and "HEADS", p.size and ("%d"):format(p.size)
  return heads and size and heads .. ", " .. size or heads or size or "1"
end

local function wrapped(values)
  local lines, line = {}, ""
  for _, value in ipairs(values) do
    local word = text.number(value) .. (value == math.floor(value) and ".0," or ",")
    if #line + #word > 100 then
      lines[#lines + 1], line = line, word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  lines[#lines + 1] = line
  return lines
end

local function add_parameters(facts, parameters)
  for _, p in ipairs(parameters) do
    if not p.learned then
      table.insert(facts.constants, { name = p.name, lines = wrapped(p.values),
        view = shapes.has_head(p) and p.size and (".view(HEADS, %d)"):format(p.size) or "" })
    else
      table.insert(shapes.has_layer(p) and facts.own or facts.shared, { name = p.name,
        text = ("nn.Parameter(torch.empty(%s))"):format(shape_text(p)) })
    end
  end
end

-- How the formula is called: arguments of change_score, and what attention passes for them.
local ARGUMENTS = { { "distance", "distance" }, { "positions", "positions" }, { "layer", "self.layer" },
  { "own", "self.score" }, { "shared", "shared" } }

-- The formula as a function: its lines, arguments and what is passed for them; constants, and parameters: own to a
-- layer, or shared by all.
local function score_facts(formula, crosses)
  local score, memory = torch.formula(formula.root, crosses), crosses and "memory_" or ""
  score.arguments, score.pass, score.constants, score.own, score.shared = "", "", {}, {}, {}
  for _, argument in ipairs(ARGUMENTS) do
    if score.uses[argument[1]] then
      local of_pair = argument[1] == "distance" or argument[1] == "shared"
      score.arguments = score.arguments .. ", " .. argument[1]
      score.pass = score.pass .. ", " .. (of_pair and memory or "") .. argument[2]
    end
  end
  for _, name in ipairs({ "index", "memory_index", "length", "key_length", "head", "distance", "positions", "layer",
    "bucket" }) do
    score[name] = score.uses[name] or false
  end
  score.queries = crosses and (score.index or score.length) and -2 or -1
  score.text = { score.lines, score.arguments, score.queries }
  add_parameters(score, formula.parameters or {})
  return score
end

-- What pairs are hidden by the difference of their indices, which is `offset`; or of an anti-diagonal.
local function mask_text(mask)
  if mask.kind == "none" or mask.kind == "lines" then
    return false
  elseif mask.kind == "antidiagonal" then
    return ("(offset < %d) | (offset > %d)"):format(mask.low, mask.high)
  end
  return mask.left and ("(offset < -%d) | (offset > %d)"):format(mask.left, mask.right)
    or ("offset > %d"):format(mask.right)
end

local COLUMN = { left = "j", right = "keys - 1 - j" }

-- Lines in the order of heads: rows of Python; how lines of the direction 0 count; heads with a corner.
local function lines_facts(family)
  local mask, rows, corners = family.mask, {}, {}
  for i, line in ipairs(mask.list) do
    rows[i] = ("(%d, %d, %d, %s)"):format(line.head, line.direction, line.line, text.number(line.value))
  end
  for h, head in ipairs(mask.heads) do
    corners[#corners + 1] = head.corner and tostring(h - 1) or nil
  end
  return { rows = rows, column = COLUMN[mask.columns], corners = corners[1] and table.concat(corners, ", ") or false,
    causal = mask.causal }
end

-- The folder of the numbers that all layers of a family's score share.
local function shared_path(net, family)
  local member
  for _, q in ipairs(family.score.learned or {}) do
    member = member or not q.per_layer and q.member
  end
  for _, p in ipairs(net.late) do
    if p.name == member then
      return p.tensors[1][1]:match("^(.*)%.")
    end
  end
end

local VECTORS = { transformer_xl = "rows_of_waves", shaw = "rows_of_table" }

-- The pages of templates/attention/python/terms that an attention has, by its fact that they hang on.
local function pages_of(names)
  local geometric = names.geometric
  return {
    rope = names.rope and { "turns" },
    mask = names.mask and { names.stride and "stripe" or names.crosses and "band_or_all" or "band" },
    lines = names.lines and { "segments" },
    bucket = names.bucket and { "buckets" },
    score = names.score and { "scalar" },
    relative = names.relative and { VECTORS[names.relative] },
    geometric = geometric and (geometric.directional and { "matches", "directions", "outwards" }
      or { "matches", "outwards" }),
  }
end

function M.of(op, formula)
  local family, crosses = op.family, op.q.stream ~= op.kv.stream
  local memory = crosses and "memory_" or ""
  local relative, normaliser = family.relative, family.normaliser
  local score = (family.score.kind or "none") ~= "none" and formula and score_facts(formula, crosses) or false
  if crosses and normaliser.kind == "geometric" then
    error({ unknown = ("the order of keys of attention %s, which is between two streams"):format(family.name) }, 0)
  end
  local names = {
    heads = family.heads, crosses = crosses, score = score, score_text = score and score.text,
    bucket = score and score.bucket,
    rope = family.rotation.kind == "rope" and family.rotation,
    by_sequence = family.positions.kind == "sequence",
    relative = relative.kind ~= "none" and relative.kind, clip = relative.clip or false,
    farthest = relative.left and 0 or relative.clip or false,
    temperature = (normaliser.temperature or 1) ~= 1 and normaliser.temperature,
    relative_rows = relative.rows or false,
    mask = mask_text(family.mask), stride = family.mask.stride or false,
    lines = family.mask.kind == "lines" and lines_facts(family) or false,
    cyclic = family.positions.period or false,
    geometric = normaliser.kind == "geometric" and normaliser,
    dropout = op.dropout and ("%.9g"):format(op.dropout.rate) or false,
  }
  names.pages = pages_of(names)
  local needs = { positions = (names.rope or score and score.positions) and true or nil,
    memory_positions = crosses and names.rope and true or nil }
  needs[memory .. "distance"] = (names.relative or score and score.distance) and true or nil
  needs[memory .. "shared"] = score and #score.shared > 0 and shared_path(op.scope.net, family) or nil
  return { needs = needs, layer = score and score.layer, text = names }
end

-- What is written of draws: their range, from 0 or 1 on, and their order.
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

-- Numbers of tokens from 0 on.
local function count_of(place, tokens)
  return ("%s = torch.arange(%s.shape[1], device=%s.device)"):format(place, tokens, tokens)
end

-- The places that positions and distances come from: before_layers, and anew in_layers; draws. positions: the facet;
-- needs: of all attentions; additive: whether the input is placed.
function M.places(positions, needs, additive)
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

-- The same of a network of two streams, whose tokens are counted. made: what its pass reads (classes.lua).
function M.places_of_streams(streams, made)
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
  table.move(distances, 1, #distances, #lines + 1, lines)
  return { before_layers = lines, in_layers = {}, draws_positions = false, draws_distances = false,
    by_sequence = false, max_position = false, one_based = false }
end

return M
