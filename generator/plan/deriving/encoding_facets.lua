-- Derives the parts of a plan about the encoding: the plan of each facet, the random positions, and the largest length
-- of a sequence. A facet is a part of the encoding, such as its mask.
--
-- Input: a plan with its families of attentions; the task's header and the formula of the score (facts of plan.lua);
-- the additive encoding, which is known before the families (the result of M.derive_added_vectors).
-- A draw is a sample of random positions or distances. M.derive sets these fields of each family:
--   <facet>        the plan of the facet, which the facet's module (facets/modules.lua) makes
--   tempered       text about the temperature for the comment on logit_scale, or ""
--   requested_value   the value that the network computes for the family (facets/modules.lua), or false
--   request_name   the name of this value in C. Without such a value, it names a parameter that no function uses;
--                  signatures.lua removes this parameter
--   slices         see the field `slices` of the plan, below
--   sides, first_drawn, range_drawn, distance_site   see settle_sides
--   logit_scale    the number that multiplies the products of queries and keys
--   score_text     the formula of its score in the spec, or nil
-- M.derive sets first_site (settle_sites) and the fields of settle_stream for each stream. M.derive returns:
--   additive           the additive encoding, with its draw
--   token_positions    see derive_token_positions
--   limit              { tokens, because }, the largest number of tokens of a sequence and its reason as text, such as
--                      "encoding.additive.rows = 64"; false without a limit
--   input_draw         the positions of the additive encoding if these are random or depend on tokens, or false
--   drawn_text         { position_range, first_position, distance_range }, each a C list of the limits of all streams
--                      (settle_stream), such as "{2048, 2048}"; false if all limits are 0
--   sequence_scratch   { name, count }, a constant in C and its value: the number of integers of workspace for sampling
--                      the positions of one sequence; false if no sequence has its own positions
--   draws_distances    whether distances are sampled
--   any_draws          whether positions or distances are sampled
--   has_tables_by_length   whether each length in a batch has its own draws and tables
--   slices             with has_tables_by_length, whether shorter sequences read parts of the tables of the longest
--                      sequences
--   panels_member      the workspace's member with the packed weights: "panels" if has_tables_by_length, else "shared"
-- M.derive_shared, which reads the families' terms, returns the fields that its comment lists, and sets for each
-- family:
--   has_sums               whether its shards sum further values in addition to the gradient
--   has_step_tables        whether begin_step computes tables for it, which lie after the struct `shared`
--   previous_step_tables   the name of the family whose tables lie before these, or false
--   paired                 see name_paired_arrays
-- With one stream, vectors added to tokens use the positions of the first family. With several streams, they use
-- encoding.positions.

local additive_facet = require("facets.additive")
local dimensions = require("plan.deriving.dimensions")
local families = require("spec.families")
local levels = require("plan.deriving.levels")
local lists = require("base.lists")
local facets = require("facets.modules")
local positions_facet = require("facets.positions")
local predicates = require("facets.predicates")
local token_positions = require("facets.token_positions")
local vector_width = require("base.vector_width")

local M = {}

local MARKS_PER_LINE = 8 -- a mark is an item of a C initialiser, such as [3] = true

-- The value that a facet of the family requests from the network, with its number of columns rounded up to whole
-- vectors and the name of this number in C; false if no facet requests one.
local function find_request(family)
  local request, second_request = table.unpack(facets.collect("request_value", family))
  if second_request then
    error({ problem = true, field = "encoding", what = ("two parts of attention %s request values: %s and %s"):format(
      family.name, request.name, second_request.name), expected = "one of the two" })
  end
  return request and lists.merge(request, { constant = request.name:upper() .. "_WIDTH",
    width = vector_width.round_up(request.columns) }) or false
end

local function derive_family(plan, family, facts)
  local resolved, score = plan.resolved, facts.score
  local encoding = families.make_encoding(resolved.encoding, family.spec_name)
  local formula = encoding.score and score and (score.families and score.families[family.spec_name] or score) or nil
  local context = { has_several_streams = plan.streams[2] ~= nil, width = plan.width, precision = plan.precision,
    longest_training = plan.longest_training, formula = formula }
  for _, module in ipairs(facets) do
    family[module.name] = module.plan and module.plan(encoding, family, context)
  end
  family.requested_value = find_request(family)
  family.request_name = family.requested_value and family.requested_value.name or "requested_value"
  local temperature = family.normaliser.temperature or 1
  family.tempered = not formula and temperature ~= 1 and (", by the temperature of %.9g"):format(temperature) or ""
  family.logit_scale = 1 / math.sqrt(family.head_width) / (formula and 1 or temperature)
  family.score_text = encoding.score
end

-- The names of two arrays of a head's scratch (scratch.tpl), from which the backward pass sums gradients of keys and
-- values together. The result is false without a softmax, or if a row is larger than a vector of the widest level.
--   pairs   the array that has each weight, followed by the gradient of its logit
--   rows    the array with a row for each query: channels of the output's gradient and of the query alternate
local function name_paired_arrays(plan, family)
  local row_bytes, has_own_arrays = 2 * family.head_width * plan.real_bytes, family.terms.pair_vectors
  return family.normaliser.kind == "softmax" and row_bytes <= levels[1].vector
    and { pairs = has_own_arrays and "pairs" or "dlogits", rows = has_own_arrays and "pair_rows" or "rows" }
end

-- Sets the fields of families that depend on the terms of all families. Returns:
--   any_sums           whether a family has sums
--   last_family_with_tables   the name of the last family with tables that each step computes, or false
--   tables             whether any table of positions exists
--   sinusoids          whether a table of sinusoids exists
--   signed_sinusoids   whether it has positive and negative distances
function M.derive_shared(plan)
  local has_sinusoids, last_family = plan.additive.kind == "sinusoid", false
  for _, family in ipairs(plan.attentions) do
    family.paired, family.has_sums = name_paired_arrays(plan, family), family.terms.has_sums
    family.previous_step_tables = last_family
    family.has_step_tables = family.terms.computes_tables or family.terms.reads_tables
    last_family = family.has_step_tables and family.name or last_family
  end
  local function has_any(name)
    return lists.any(plan.attentions, function(family) return family.terms[name] end)
  end
  local is_signed = lists.any(plan.attentions, function(family)
    return family.terms.has_biases and family.terms.by_offset
  end)
  local sinusoids = has_sinusoids and plan.additive.member == "sinusoid" or is_signed or has_any("by_rotation")
  return { any_sums = has_any("has_sums"), last_family_with_tables = last_family, signed_sinusoids = is_signed,
    sinusoids = sinusoids, tables = has_sinusoids or sinusoids or has_any("rotates_rows") }
end

-- Sets first_site of streams, the site in the counter of random numbers at which a stream's samples begin: the
-- first_site of the first family whose keys are in the stream.
local function settle_sites(plan)
  for _, stream in ipairs(plan.streams) do
    stream.first_site = 0
  end
  for i = #plan.attentions, 1, -1 do
    local family = plan.attentions[i]
    plan.streams[family.keys.stream + 1].first_site = family.first_site
  end
end

-- Sets these fields of a family:
--   sides           the draws of positions in begin_step, a list of tables:
--     stream          the index of the stream
--     member          the member of the struct `shared`
--     site            C text that is added to the index of the draw
--     count           C text, the number of positions
--   first_drawn     C text, the least drawn position
--   range_drawn     C text, the number of positions to draw from
--   distance_site   C text that is added to a draw's index for distances
-- Queries and keys of one stream share a draw. The positions of a stream are sampled at the sites of its
-- self-attention; but with a draw for each layer, cross-attention samples the positions of its keys at its own sites.
-- If one draw serves all layers, the families of all layers (the field encoding.layers of specs) share this draw.
local function settle_sides(plan, family)
  local positions = family.positions
  family.sides = {}
  family.first_drawn = positions.first == 1 and family.PREFIX .. "FIRST_POSITION" or "0"
  family.range_drawn = family.PREFIX .. "MAX_POSITION" .. (positions.first == 1 and " - 1" or "")
  local function get_first_site(draws)
    local is_shared = families.is_layer[family.spec_name] and not draws.per_layer
    return is_shared and plan.streams[family.queries.stream + 1].first_site or family.first_site
  end
  local distance_site = get_first_site(positions.distance)
  family.distance_site = (positions.distance.site_offset or "")
    .. (distance_site > 0 and " + " .. distance_site or "")
  local function add(stream, member, first_site)
    local site_text = first_site > 0 and " + " .. first_site or ""
    table.insert(family.sides, { stream = stream, member = member, site = positions.site_offset .. site_text,
      count = member == "position" and "T" or "S" })
  end
  if positions.kind == "randomized" and not family.cross then
    add(family.queries.stream, "position", get_first_site(positions))
  elseif positions.kind == "randomized" then
    local key_site = plan.streams[family.keys.stream + 1].first_site
    add(family.queries.stream, "position", plan.streams[family.queries.stream + 1].first_site)
    add(family.keys.stream, "key_position", positions.per_layer and family.first_site or key_site)
  end
end

-- The random positions of the vectors that are added to tokens; false if positions are indices. layer_index: C text of
-- the index of layer l's draw, such as "l + 1". is_separate: whether the draws belong to no family.
local function plan_input_draw(plan)
  local family, encoding = plan.first_family, plan.resolved.encoding
  local is_separate = plan.streams[2] ~= nil
  if predicates.is_by_token({ encoding = encoding }) then
    return positions_facet.plan_input(encoding)
  end
  local positions = is_separate and positions_facet.plan_input(encoding) or family.positions
  return positions.kind ~= "index" and { is_separate = is_separate, PREFIX = is_separate and "" or family.PREFIX,
    prefix = is_separate and "" or family.prefix, kind = positions.kind, range = positions.range,
    first = positions.first, bound = positions.bound, sorted = positions.sorted,
    sorted_text = positions.sorted_text, layer_index = positions.layer_index, by_token = false }
end

-- The families that use positions of a stream's tokens, each as { positions, PREFIX, field }: the plan of positions,
-- the prefix of their constants, and the path of the encoding in the spec. With several streams, the draw of the
-- additive encoding, if there is one, comes first.
function M.list_readers(plan, stream, input_draw)
  local list, encoding = {}, plan.resolved.encoding
  if plan.streams[2] and input_draw and not input_draw.by_token then
    list[1] = { positions = input_draw, PREFIX = input_draw.PREFIX, field = "encoding" }
  end
  for _, family in ipairs(dimensions.list_families(plan)) do
    if not plan.streams[2] or family.queries.stream == stream.index or family.keys.stream == stream.index then
      list[#list + 1] = { positions = family.positions, PREFIX = family.PREFIX,
        field = encoding[family.spec_name] and "encoding." .. family.spec_name or "encoding" }
    end
  end
  return list
end

-- Sets a stream's limits of positions and distances. A user may give values in place of sampled ones. All readers of
-- the stream (M.list_readers) accept values within these limits:
--   first_position    the least position
--   position_range    positions are below this number; 0 if no positions are drawn
--   distance_range    distances are below this number; 0 if no distances are drawn
--   sequence_reader   the reader for which every sequence has its own positions, or false
local function settle_stream(plan, stream, input_draw)
  stream.sequence_reader, stream.position_range, stream.first_position, stream.distance_range = false, 0, 0, 0
  local function choose_limit(limit, new_limit) -- 0: no limit yet
    return limit == 0 and new_limit or math.min(limit, new_limit)
  end
  for _, reader in ipairs(M.list_readers(plan, stream, input_draw)) do
    local positions, distance = reader.positions, reader.positions.distance or {}
    if positions.kind ~= "index" then
      stream.position_range = choose_limit(stream.position_range, positions.bound)
      stream.first_position = math.max(stream.first_position, positions.first)
    end
    if distance.draws then
      stream.distance_range = choose_limit(stream.distance_range, distance.bound)
    end
    stream.sequence_reader = stream.sequence_reader or positions.kind == "sequence" and reader
  end
end

-- The field `limit` of the plan.
local function find_limit(plan, additive, input_draw)
  local limit = false
  local function add(tokens, field, value)
    if not limit or tokens < limit.tokens then
      limit = { tokens = tokens, because = ("%s = %d"):format(field, value) }
    end
  end
  for _, stream in ipairs(plan.streams) do
    for _, reader in ipairs(M.list_readers(plan, stream, input_draw)) do
      local range, distance = reader.positions.range, reader.positions.distance or {}
      -- If the positions have no range, only distances are sampled. The distances of n tokens are 0 to n - 1, so the
      -- limit is distance.bound, the number of different distances.
      if range or distance.range then
        add(range or distance.bound, reader.field .. ".positions.max_position", range or distance.range)
      end
    end
  end
  if input_draw and input_draw.by_token then
    local token_limit = input_draw.by_token.limit
    limit = token_limit and not (limit and limit.tokens < token_limit.tokens) and token_limit or limit
  elseif additive.kind == "learned" and not input_draw then
    add(additive.rows, "encoding.additive.rows", additive.rows)
  end
  return limit
end

-- Adds the fields of the plan about sampled positions to `fields`. input_draw: the positions of the additive encoding.
local function add_draws(fields, plan, input_draw)
  settle_sites(plan)
  fields.sequence_scratch = false
  for _, stream in ipairs(plan.streams) do
    settle_stream(plan, stream, input_draw)
    local reader, max_scratch = stream.sequence_reader, fields.sequence_scratch
    if reader and not (max_scratch and max_scratch.count >= reader.positions.bound) then
      fields.sequence_scratch = { name = reader.PREFIX .. "MAX_POSITION", count = reader.positions.bound }
    end
  end
  fields.input_draw, fields.drawn_text = input_draw, {}
  for _, name in ipairs({ "position_range", "first_position", "distance_range" }) do
    local numbers = lists.map(plan.streams, function(stream) return stream[name] end)
    fields.drawn_text[name] = lists.max(numbers, function(n) return n end) > 0
      and "{" .. table.concat(numbers, ", ") .. "}" -- C text; false if all numbers are 0
  end
  fields.draws_distances = fields.drawn_text.distance_range ~= false
  fields.any_draws = fields.draws_distances or fields.drawn_text.position_range ~= false
  for _, family in ipairs(plan.attentions) do
    settle_sides(plan, family)
  end
end

-- The vectors that are added to the vectors of tokens, without their parameters and their sampled positions.
function M.derive_added_vectors(plan, facts)
  return additive_facet.plan_added(plan.resolved.encoding, plan.resolved.model, facts.task)
end

-- Whether the sequences of one length share values that depend on this length: draws, or tables of a step.
local function has_values_of_lengths(plan, input_draw)
  local is_drawn_by_length = input_draw and input_draw.is_separate and input_draw.kind == "randomized"
  return is_drawn_by_length or lists.any(dimensions.list_families(plan), function(family)
    return family.positions.kind == "randomized" or family.positions.distance.draws or family.relative.has_step_tables
      or family.score.kind == "expression"
  end)
end

-- Whether shorter sequences can read a part of the tables of the longest sequences. They can if every table contains
-- sinusoids of fixed distances.
local function has_only_slices(plan, any_draws)
  return not any_draws and not lists.any(dimensions.list_families(plan), function(family)
    local relative = family.relative
    return family.score.kind == "expression"
      or relative.has_step_tables and not (relative.kind == "transformer_xl" and relative.toeplitz)
  end)
end

-- The positions that the runtime derives from tokens, or false. Fields of positions that the task gives:
--   max_position   the largest position
--   by_line        whether the positions are in the lines of files
--   digits         false
-- Fields of positions of digits in numbers:
--   offset         see facets/token_positions.lua
--   digits         the tokens that are digits
--   lines          the lines of a C initialiser that marks these tokens
local function derive_token_positions(plan, task, input_draw)
  if not input_draw or not input_draw.by_token then
    return false
  elseif input_draw.by_token.greatest_position then
    return { max_position = input_draw.by_token.greatest_position, digits = false,
      by_line = token_positions.reads_positions_from_files(task) }
  end
  local digits, lines = {}, {}
  local function add(symbols, first_token)
    for i, symbol in ipairs(symbols) do
      digits[#digits + 1] = token_positions.is_digit(symbol) and first_token + i - 1 or nil
    end
  end
  add(task.input_symbols, 0)
  if plan.decoder and plan.decoder.first_output > 0 then
    add(task.output_symbols, plan.decoder.first_output)
  end
  local marks = lists.map(digits, function(token) return ("[%d] = true,"):format(token) end)
  for i = 1, #marks, MARKS_PER_LINE do
    lines[#lines + 1] = table.concat(marks, " ", i, math.min(i + MARKS_PER_LINE - 1, #marks))
  end
  return { offset = input_draw.by_token.offset, digits = digits, lines = lines }
end

function M.derive(plan, facts, added_vectors)
  for _, family in ipairs(dimensions.list_families(plan)) do
    derive_family(plan, family, facts)
  end
  local input_draw = added_vectors.kind ~= "none" and plan_input_draw(plan)
  local fields, additive = {}, lists.merge(added_vectors, { draw = input_draw })
  -- Sequences can only share tables of position vectors if they have the same positions.
  additive.is_read_from_tables = not (input_draw and input_draw.kind == "sequence")
  add_draws(fields, plan, input_draw)
  fields.token_positions = derive_token_positions(plan, facts.task, input_draw)
  fields.additive, fields.limit = additive, find_limit(plan, additive, input_draw)
  fields.has_tables_by_length = plan.train.mixes_lengths and has_values_of_lengths(plan, input_draw) or false
  fields.slices = fields.has_tables_by_length and has_only_slices(plan, fields.any_draws)
  for _, family in ipairs(dimensions.list_families(plan)) do
    family.slices = fields.slices
  end
  fields.panels_member = fields.has_tables_by_length and "panels" or "shared"
  return fields
end

return M
