-- The module of the facet `positions`: the position of each token, and the distance between the tokens of a pair.
-- modules.lua describes modules of facets.
--
-- Input of M.plan: the resolved encoding, the family with the field `layers`, and context.has_several_streams, whether
-- the model has several streams. Output: the fields with which templates sample positions, and `distance`, a table that
-- describes the signed distances of pairs.
--
-- A draw is a sample of positions. It has an index in the table of draws of a pass, and a site, which selects its
-- random numbers: 0 if the whole pass shares the draw, l + 1 if it belongs to block l. Facets with the same site and
-- range have the same positions. All vectors that are added to embeddings read draw 0. With draw = "layer", each block
-- has a draw, as in Ruoss et al.'s released code: rotation, differences of positions, and vectors added in the block
-- share it. With several streams, each stream has its own draws and sites, and vectors added to tokens have draws that
-- belong to no family (M.plan_input).
--
-- If the family samples no positions, the output's field `kind` is "index". This is so with these kinds in the spec:
--   "index"
--   "grid": only tables of sinusoids read the cells of the grid
--   "cyclic": the output has `period`; tables of rotations and of added vectors repeat after `period` positions
--   "digits", "by_task": only vectors added to tokens use these positions (token_positions.lua)
--   "randomized", if no facet of the family reads positions
-- If the family samples positions, the output has these fields:
--   kind           "randomized", or "sequence": every sequence of the batch has its own draw, in the workspace
--   range          L, the number of positions to sample from: max_position in the spec
--   first          the least position to sample from, 0 or 1
--   bound          the largest position + 1: the value of the C constant MAX_POSITION, and the number of rows in tables
--   sorted         whether positions ascend
--   sorted_text    C text of `sorted`
--   draws          the number of draws: the number of rows of shared->position, and in cross-attention also of
--                  shared->key_position
--   site_offset    C text that turns a draw's index into its site: "" or " + 1"
--   layer_index    C text of the index of block l's draw: "0", "l" or "l + 1"
--   per_layer      whether every block has its own draw
--   input_first    whether draw 0 belongs to the input, and the draws of blocks follow
--   sharing        words for the parts of a pass that share a draw, such as "one for each layer"
--   by_token       a table if positions depend on tokens (token_positions.lua)
-- A field that does not apply is false, such as draws, site_offset and layer_index with kind = "sequence".
-- distance.kind names the source of distances for the facets that read distances (relative, score):
--   "none"         no facet reads distances
--   "index"        the distance is the difference of indices, key - query
--   "difference"   the distance is the difference of two sampled positions of draw layer_index
--   "drawn", "clamped"   the distance is an element of the ascending draw shared->distance[distance.layer_index]; the
--                  function drawn_distance of generated code selects this element
-- Draws of distances have sites of their own. With "drawn" and "clamped", `distance` has further fields:
--   range, bound, draws, site_offset, layer_index, per_layer, sharing   as in the list above, for distances
--   independent    whether distances to the left have samples of their own. One draw then has both sides: element
--                  (bound + o) is the distance for the offset o = (key - query)

local lists = require("base.lists")
local predicates = require("facets.predicates")
local token_positions = require("facets.token_positions")

local M = { name = "positions", is_read_by_facets = true }

-- Fields of specs (spec/schema.lua). `fingerprints`: texts that generated code has only if the feature is on.
M.fields = {
  { path = "encoding.positions", type = "table", doc = "the position of each token" },
  { path = "encoding.positions.kind", type = "kind", default = "index", doc = "the choice of positions",
    kinds = {
      { name = "index", doc = "0, 1, 2, ..." },
      { name = "randomized", fingerprints = { "lh_draw_" }, used = predicates.reads_positions_or_distances,
        doc = "distinct random integers from a range of max_position integers, sampled anew for every batch" },
      { name = "grid", fingerprints = { "GRID_WIDTH" }, doc = "row and column in the task's grid" },
      { name = "cyclic", fingerprints = { "cyclic" }, used = predicates.reads_positions_or_distances,
        doc = "0, 1, ..., period - 1, then again from 0" },
      { name = "digits", fingerprints = { "token_positions" }, used = predicates.adds_vectors,
        doc = "a digit's place in its number, from 1; 0 for other tokens (Abacus)" },
      { name = "by_task",
        doc = "positions that the task gives to tokens, such as the same position for all digits with one place value "
          .. "(position coupling)" },
    } },
  { path = "encoding.positions.period", type = "integer", min = 2, max = 1048576, required = true,
    only = { "cyclic" }, unit = "positions", doc = "number of different positions" },
  { path = "encoding.positions.max_position", type = "integer", min = 2, max = 1048576, default = 2048,
    unit = "positions", only = { "randomized", "digits", "by_task" },
    doc = "size of the range from which positions are sampled; for digits and by_task the greatest position" },
  { path = "encoding.positions.offset", type = "integer", min = 0, max = 1048575, default = 100, unit = "positions",
    only = { "digits" },
    doc = "greatest number that training adds to positions above 0, sampled anew for every batch" },
  { path = "encoding.positions.elsewhere", is_rare = true, type = "choice", default = "none", omitted_value = "none",
    only = { "digits", "by_task" }, doc = "positions that rotation, relative and score use",
    choices = {
      { "none", "these facets must not read positions or distances" },
      { "index", "0, 1, 2, ..." } } },
  { path = "encoding.positions.range", is_rare = true, type = "choice", default = "zero_based",
    omitted_value = "zero_based", only = { "randomized" }, fingerprints = { "FIRST_POSITION" },
    used = predicates.samples_positions, doc = "the range of samples, with L = max_position",
    choices = {
      { "zero_based", "positions from 0 to L - 1, distances from 1 to L - 1" },
      { "one_based", "positions and distances from 1 to L" } } },
  { path = "encoding.positions.sorted", is_rare = true, type = "boolean", default = true, only = { "randomized" },
    doc = "whether sampled positions ascend in the order of the tokens" },
  { path = "encoding.positions.draw", type = "choice", choices = { "pass", "layer", "sequence" },
    only = { "randomized" }, fingerprints = { "draw_sequence" }, used = function(resolved)
      return predicates.samples_by_sequence(resolved) and predicates.reads_positions_or_distances(resolved)
    end,
    default = function(resolved)
      local rotation = resolved.encoding.rotation
      local rotates = rotation ~= nil and rotation.kind == "rope"
      return (rotates or predicates.reads_distances(resolved)) and "layer" or "pass"
    end,
    default_text = "layer if there is a rotation, relative or a score that reads positions, otherwise pass",
    doc = "the part of the computation that shares one sample of positions",
    details = {
      "pass: one sample for a whole pass through the network",
      "layer: a sample for every block",
      "sequence: a sample for every sequence of the batch",
    } },
  { path = "encoding.positions.reading", is_rare = true, type = "choice", default = "drawn",
    default_text = "drawn; in cross-attention: difference, the only choice", only = { "randomized" },
    doc = "the meaning of the distance between two tokens",
    choices = {
      { "drawn", "sampled distances, which ascend with the number of tokens in between" },
      { "difference", "the difference of two sampled positions" },
      { "clamped", "sampled distances, read as in Ruoss et al.'s released code" } } },
  { path = "encoding.positions.sides", is_rare = true, type = "choice", choices = { "mirrored", "independent" },
    default = "mirrored", omitted_value = "mirrored", only = { "randomized" }, fingerprints = { "signed_distances" },
    used = function(resolved)
      return predicates.reads_distances(resolved) and resolved.encoding.positions.reading == "drawn"
    end,
    doc = "the sampled distances to the left",
    details = {
      "mirrored: the same distances as to the right",
      "independent: separately sampled distances",
    } },
}

local KIND = "encoding.positions.kind"
local BY_INDEX = '"none", or positions by index'
local INDEX_WORDS = "x.query_index and x.key_index, or positions by index"

-- Returns a function that refuses the field `path` if is_set is true. other_path, value: path and value of the field
-- that excludes it; by default the kind of positions.
local function make_refusal(report, kind)
  return function(path, is_set, message, expected, other_path, value)
    if is_set then
      report.refuse(path, other_path or KIND, value or ('"%s"'):format(kind), { what = message, expected = expected })
    end
  end
end

-- Refuses facets that cannot use cells of a grid: a cell has two positions, and only sums of vectors can use both.
local function check_grid(view, report)
  local encoding, facts, refuse = view.resolved.encoding, view.task, make_refusal(report, "grid")
  refuse(KIND, facts and not facts.grid,
    '"grid" is for a task whose input is a grid, and the input of this task has no rows and columns',
    '"index", or a task with a line `grid:` in its header, such as latin_square', "task.kind", facts and facts.kind)
  refuse(KIND, view.resolved.model.kind == "encoder_decoder",
    '"grid" does not work with a target stream, which is not a grid',
    '"index", or model.kind = "encoder"', "model.kind", '"encoder_decoder"')
  refuse("encoding.additive.kind", encoding.additive.kind == "learned",
    "a learned table has one vector per cell and does not use rows and columns", '"sinusoid", or positions by index')
  refuse("encoding.additive.kind", encoding.additive.kind == "none", "nothing reads the rows and columns of the grid",
    '"sinusoid", or positions by index')
  refuse("encoding.rotation.kind", encoding.rotation.kind == "rope",
    "a rotation needs one number per position, and a cell has two", BY_INDEX)
  refuse("encoding.relative.kind", predicates.has_distance_vectors(encoding),
    "a vector belongs to one signed distance, and two cells have two distances", BY_INDEX)
  refuse("encoding.score", predicates.score_reads_positions(encoding),
    "the score reads x.distance, x.query or x.key, which need one number per position, and a cell has two", INDEX_WORDS)
end

-- Refuses facets that need distances between positions, or a vector for every index: cyclic positions repeat.
local function check_cyclic(view, report)
  local encoding, refuse = view.resolved.encoding, make_refusal(report, "cyclic")
  refuse("encoding.additive.kind", encoding.additive.kind == "learned",
    "a learned table has a vector for every index, not for repeated positions", '"sinusoid", or positions by index')
  refuse("encoding.relative.kind", predicates.has_distance_vectors(encoding),
    "a vector belongs to a distance, and repeated positions have no distance", BY_INDEX)
  refuse("encoding.score", predicates.score_reads_positions(encoding),
    "the score reads x.distance, x.query or x.key, and repeated positions have no distance", INDEX_WORDS)
end

-- Refuses contradictory choices of sampling, and lengths beyond the range.
local function check_draws(view, report)
  local encoding = view.resolved.encoding
  local positions, relative = encoding.positions, encoding.relative
  if positions.reading == "clamped" and positions.range == "one_based" then
    report.refuse("encoding.positions.range", "encoding.positions.reading", '"clamped"', {
      what = '"one_based" cannot be used with clamped distances',
      expected = '"zero_based"; the released code that "clamped" reproduces samples distances from 1 to L - 1' })
  end
  if positions.draw == "sequence" and relative.kind and predicates.reads_distances(view.resolved) then
    local has_vectors = predicates.has_distance_vectors(encoding)
    local reader = has_vectors and "encoding.relative.kind" or "encoding.score"
    report.add({ "encoding.positions.draw" }, { what = '"sequence" cannot be used with distances between tokens',
      expected = '"pass" or "layer"; distances of relative and of scores are computed once for the whole batch',
      hint = "additive and rotation can have positions of their own in every sequence",
      notes = { report.note(reader, has_vectors and ('"%s"'):format(relative.kind) or encoding.score) } })
  end
  if encoding.additive then
    -- T tokens have T positions, but only T - 1 distances. If only distances are sampled, a sequence may have one token
    -- more than the range has numbers.
    local samples_only_distances = positions.range == "one_based" and not predicates.samples_positions(view.resolved)
    local extra_tokens = samples_only_distances and 1 or 0
    report.check_limit("encoding.positions.max_position", positions.max_position, "the range of positions",
      "distinct positions are sampled from that range", 'use positions of kind "index"', extra_tokens)
  end
end

local CHECKS = { grid = check_grid, cyclic = check_cyclic, randomized = check_draws, digits = token_positions.check,
  by_task = token_positions.check }

function M.check(view, report)
  local positions = view.resolved.encoding.positions
  local check = positions and CHECKS[positions.kind]
  if check then
    check(view, report)
  end
end

-- A range with more positions than this for each token of the longest sequence causes a warning. Training worked with
-- 16 positions per token: figure 3 of Ruoss et al. has 8192 positions for 501 tokens.
local MANY_POSITIONS = 32

-- Warns about a range far above the lengths in use: training would meet most of its positions too seldom.
local function warn_range(view, report)
  local max_position, path = view.resolved.encoding.positions.max_position, "encoding.positions.max_position"
  local max_tokens = not view.task.data and not report.is_inherited(path) and report.find_longest_tokens() or 0
  if max_tokens > 0 and max_position > MANY_POSITIONS * max_tokens then
    report.warn(("%s: %d is more than %d times %d, the number of tokens of the longest sequence: training meets "
      .. "most of these positions too seldom; usual ranges have about 2 to 16 positions for each token"):format(
      report.get_path(path), max_position, MANY_POSITIONS, max_tokens))
  end
end

-- Warns about a choice of sides that has no effect: only sampled distances have two sides.
local function warn_sides(view, report)
  local positions, path = view.resolved.encoding.positions, "encoding.positions.sides"
  local specs = report.list_affected_specs(KIND)
  local reason = not lists.any(specs, predicates.reads_distances) and "nothing reads distances"
    or positions.reading == "difference" and "distances are differences of positions"
    or positions.reading == "clamped" and "clamped distances are sampled for the left side alone"
  if positions.sides == "independent" and reason and not report.is_inherited(path) then
    report.warn(("%s: \"independent\" has no effect: %s"):format(report.get_path(path), reason))
  end
end

local function warn_draws(view, report)
  local resolved, path = view.resolved, report.get_path("encoding.positions")
  local positions, specs = resolved.encoding.positions, report.list_affected_specs(KIND)
  local reads_distances = lists.any(specs, predicates.reads_distances)
  local reads_positions = lists.any(specs, predicates.reads_positions)
  local rotates = lists.any(specs, function(spec) return spec.encoding.rotation.kind ~= "none" end)
  if not reads_distances and not reads_positions then
    report.warn(path .. ": nothing reads the random positions: additive, rotation and relative are none, and no score "
      .. "reads x.distance, x.query or x.key")
  elseif positions.draw == "layer" and not rotates and not reads_distances
    and resolved.encoding.additive.at ~= "block" then
    report.warn(path .. ".draw: \"layer\" is the same as \"pass\" here: only rotation, relative and score sample "
      .. "positions for a layer")
  end
  if positions.sorted == false and reads_distances and not reads_positions
    and positions.reading ~= "difference" then
    report.warn(path .. ".sorted: false has no effect: sampled distances always ascend, and nothing reads positions")
  end
  if positions.reading ~= "drawn" and not reads_distances then
    report.warn(("%s.reading: %q has no effect: nothing reads distances"):format(path, positions.reading))
  end
end

function M.warn(view, report)
  if predicates.is_randomized(view.resolved) then
    if not report.is_inherited(KIND) then
      warn_draws(view, report)
    end
    warn_sides(view, report)
    warn_range(view, report)
  end
end

function M.explain_length(resolved, sides)
  if (sides.query or sides.key) and predicates.is_randomized(resolved) then
    local positions = resolved.encoding.positions
    local samples_distances = positions.reading ~= "difference" and predicates.reads_distances(resolved)
    return (samples_distances or positions.sorted ~= false and predicates.samples_positions(resolved))
      and "samples as many random positions as a sequence has tokens"
  end
end

-- The fields that do not apply to all kinds of positions or distances.
local NO_SAMPLES = { range = false, first = false, bound = false, sorted = false, draws = false,
  site_offset = false, layer_index = false, per_layer = false, input_first = false, sharing = false, by_token = false,
  period = false, independent = false }

-- The fields of sampled positions that do not depend on a family.
local function plan_sampled(positions)
  local first = positions.range == "one_based" and 1 or 0
  return lists.merge(NO_SAMPLES, {
    kind = positions.draw == "sequence" and "sequence" or "randomized",
    range = positions.max_position,
    first = first,
    bound = positions.max_position + first,
    sorted = positions.sorted,
    sorted_text = tostring(positions.sorted),
  })
end

-- The plan of distances. With a score, distances are planned even if the score reads none.
local function plan_distances(encoding, layers)
  local positions = encoding.positions
  local is_read = positions.draw ~= "sequence" -- with "sequence", check_draws refuses facets that read distances
    and (encoding.score ~= nil or predicates.reads_distances({ encoding = encoding }))
  local kind = not is_read and "none" or positions.kind ~= "randomized" and "index" or positions.reading
  if kind ~= "drawn" and kind ~= "clamped" then
    return lists.merge(NO_SAMPLES, { kind = kind })
  end
  local per_layer = positions.draw == "layer"
  return {
    kind = kind,
    independent = positions.sides == "independent" and kind == "drawn",
    range = positions.max_position,
    bound = plan_sampled(positions).bound,
    draws = per_layer and layers or 1,
    site_offset = per_layer and " + 1" or "",
    layer_index = per_layer and "l" or "0",
    per_layer = per_layer,
    sharing = per_layer and "one for each layer" or "shared by the whole pass",
  }
end

-- The positions of vectors added to tokens, if they are sampled separately from the positions of families.
function M.plan_input(encoding)
  if predicates.is_by_token({ encoding = encoding }) then
    return token_positions.plan(encoding.positions)
  end
  return encoding.positions.kind == "randomized" and plan_sampled(encoding.positions)
    or lists.merge(NO_SAMPLES, { kind = "index" })
end

function M.plan(encoding, family, context)
  local positions, layers = encoding.positions, family.layers
  local distance = plan_distances(encoding, layers)
  if family.cross and distance.draws then
    error({ problem = true, field = ("encoding.%s.positions.reading"):format(family.spec_name), expected = "difference",
      what = "distances are sampled for one sequence, but queries and keys of this attention are from two sequences" })
  end
  local adds_vectors = not context.has_several_streams and encoding.additive.kind ~= "none"
  local in_blocks = encoding.additive.at == "block"
  local input_has_draw = adds_vectors and not in_blocks
  local layers_have_draws = adds_vectors and in_blocks or encoding.rotation.kind ~= "none"
    or distance.kind == "difference"
  if positions.kind ~= "randomized" or not input_has_draw and not layers_have_draws then
    return lists.merge(NO_SAMPLES, { kind = "index", distance = distance, period = positions.period })
  end
  local plan = plan_sampled(positions)
  plan.distance = distance
  if plan.kind == "sequence" then
    plan.sharing = "one for each sequence of the batch"
    return plan
  end
  local per_layer = layers_have_draws and positions.draw == "layer"
  local has_pass_draw = input_has_draw or not per_layer -- draw 0 belongs to no block
  plan.sharing = not per_layer and "shared by the whole pass"
    or (has_pass_draw and "the input's, then " or "") .. "one for each layer"
  plan.draws = (has_pass_draw and 1 or 0) + (per_layer and layers or 0)
  plan.site_offset = has_pass_draw and "" or " + 1"
  plan.per_layer, plan.input_first = per_layer, per_layer and has_pass_draw
  plan.layer_index = not per_layer and "0" or has_pass_draw and "l + 1" or "l"
  return plan
end

local DISTANCES = {
  drawn = "ascending distances drawn from 1 .. %d",
  clamped = "ascending numbers p drawn from 1 .. %d; the distance is %d - p for keys to the left, otherwise %d",
  difference = "distances are differences of positions",
}

-- Describes the range of sampled positions. positions: the plan of a family's positions, or the result of M.plan_input.
function M.describe_draws(positions)
  if positions.by_token then
    return token_positions.describe(positions)
  end
  return string.format("%s positions drawn from %d .. %d%s", positions.sorted and "sorted" or "unsorted",
    positions.first, positions.bound - 1, positions.kind == "sequence" and " for every sequence" or "")
end

function M.describe_details(family)
  local positions, parts = family.positions, {}
  if positions.range then
    parts[1] = M.describe_draws(positions)
  end
  local words = DISTANCES[positions.distance.kind]
  if words then
    local bound = positions.bound or positions.distance.bound
    parts[#parts + 1] = words:format(bound - 1, bound, bound - 1)
      .. (positions.distance.independent and ", each side by itself" or "")
  end
  return #parts > 0 and table.concat(parts, ", ") or nil
end

local function add_family_choices(family, has_several_streams, add)
  local positions, distance = family.positions, family.positions.distance
  local suffix = has_several_streams and ", " .. family.name or " per pass"
  local sides = family.cross and ", of each stream" or ""
  if positions.kind ~= "index" then
    add("position draws" .. suffix, positions.draws and positions.draws * #family.sides or "as many as sequences",
      positions.sharing .. sides)
  end
  if distance.draws then
    add("distance draws" .. suffix, distance.draws,
      distance.sharing .. (distance.independent and ", with samples for both sides" or ""))
  elseif family.cross and distance.kind == "difference" then
    add("distances" .. suffix, "differences", "queries and keys are of two streams, which sample positions separately")
  end
end

-- Adds choices about the draws of a pass: the draws of each family, and with several streams the draws of the vectors
-- added to tokens.
function M.add_choices(plan, families, add)
  local input, has_several_streams = plan.input_draw, plan.streams[2] ~= nil
  if has_several_streams and input then
    local is_by_sequence = input.kind == "sequence"
    add("position draws, input", is_by_sequence and "as many as sequences" or #plan.streams,
      is_by_sequence and "one for each sequence of the batch, of each stream" or "one for each stream")
  end
  for _, family in ipairs(families) do
    add_family_choices(family, has_several_streams, add)
  end
end

function M.identify(encoding)
  local positions = encoding.positions
  return { positions = positions.period and { "cyclic", positions.period } or positions.kind }
end

function M.export(family)
  return { by_sequence = family.positions.kind == "sequence", cyclic = family.positions.period or false }
end

function M.make_terms()
  return { { kind = "position_source", template = "draws", properties = {} } }
end

-- Bytes of the draws of a pass, with the workspaces in which they are sampled.
function M.count_bytes(family)
  local positions, distance = family.positions, family.positions.distance
  local int_bytes, workspaces = 4, 1
  local int_count = 0
  if positions.kind == "randomized" then
    int_count = (#family.sides + workspaces) * positions.draws * positions.bound
  end
  if distance.draws then
    local sides = distance.independent and 2 or 1
    int_count = int_count + (sides + workspaces) * distance.draws * distance.bound
  end
  return { draws = int_bytes * int_count }
end

return M
