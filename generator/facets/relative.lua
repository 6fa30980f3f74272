-- The module of the facet `relative`: vectors that contribute to the logit of a pair and depend on the pair's signed
-- distance, or on a count of keys. modules.lua describes modules of facets.
--
-- The vector of a pair is called its row: the pairs with one distance (or count) share one row of a table.
--
-- Input of M.plan: the resolved encoding, the family with the field `positions`, and context.width, the model's width.
-- Output:
--   kind         "none", "transformer_xl", "shaw" or "cope"
--   toeplitz     whether the row of a pair depends only on (key - query), so that consecutive queries have consecutive
--                rows
--   rotated      whether queries are rotated by their positions, and pairs have no rows: transformer_xl with distances
--                that are differences of sampled positions
--   set_count    the number of sets of distances in a step: one if all layers share sampled distances or positions,
--                otherwise one for each layer
--   set_of_layer   C text of the index of layer l's set: "0" or "l"
--   width        the number of channels of a row. For transformer_xl: the model's width, since a row has all heads side
--                by side. For other kinds: the width of one head, since the heads share a row
--   biases       whether there are content and position biases (transformer_xl)
--   vectors_per_query   the number of vectors, each as wide as a head, that the backward pass over keys reads for each
--                query. Without biases 2: the gradient of the output, and the query. With biases 3: the gradient of
--                the output, and the query with each of the two biases
--   has_step_tables   whether begin_step computes rows and stores them after the struct `shared`
-- For shaw:
--   clip         the farthest distance with a vector of its own
--   rows         the number of rows of the table
--   rows_text    C text of the number of rows, such as "2 * CLIP + 1"
--   padded_elements   the number of elements of the table, rounded up to whole vectors
--   left         whether only keys up to the query have vectors
--   farthest     C text of the farthest distance to the right that has a vector: "0", or "CLIP" with a prefix
--   init_sigma   the standard deviation of the table's initial values
-- For cope:
--   counts_keys  true: a query counts keys
--   rows, padded_elements   numbers of rows and elements of the table, as for shaw
--   factor       a number that multiplies products of queries and the table, or false
-- Further fields are parts of comments in generated code.

local lists = require("base.lists")
local predicates = require("facets.predicates")
local vector_width = require("base.vector_width")

local M = { name = "relative", excludes_cross = true, decoder_kinds = { cope = true } }

-- Fields of specs (spec/schema.lua). `fingerprints`: texts that generated code has only if the feature is on.
M.fields = {
  { path = "encoding.relative", type = "table",
    doc = "vectors in the logit, for the signed distance (key - query) or for a distance "
      .. "that is computed from the query and the keys (cope)" },
  { path = "encoding.relative.kind", type = "kind", default = "none", doc = "the kind of vectors",
    kinds = {
      { name = "none", doc = "no vectors" },
      { name = "transformer_xl", fingerprints = { "position_bias" },
        doc = "logit (q + u) k + (q + v) W R, with the distance's sinusoid R, a learned map W, and learned biases u "
          .. "and v" },
      { name = "shaw", fingerprints = { "table_row", "relative_table" },
        doc = "logit q (k + a), with a learned vector a per distance, shared by the heads" },
      { name = "cope", fingerprints = { "count_table", "COUNT_ROWS" },
        doc = "logit q (k + e), with e interpolated between two rows of a learned table that the heads share; the row "
          .. "number is the sum of the gates sigmoid(q k / sqrt(D)) of the keys from this key to the query" },
    } },
  { path = "encoding.relative.clip", type = "integer", min = 1, max = 1048576, default = 16, unit = "positions",
    only = { "shaw" }, doc = "the longest distance that has its own vector; longer distances share this vector" },
  { path = "encoding.relative.sides", is_rare = true, type = "choice", default = "both",
    default_text = "left if no query sees a later key, otherwise both", omitted_value = "both", only = { "shaw" },
    doc = "the distances that have a vector",
    choices = {
      { "both", "all distances" },
      { "left", "the distances of the query's own token and of earlier keys, for causal masks" } } },
  { path = "encoding.relative.rows", type = "integer", min = 2, max = 65536, default = 64, only = { "cope" },
    doc = "the number of rows of the table, for counts from 0 to rows - 1; larger counts have the last row" },
  { path = "encoding.relative.divided", is_rare = true, type = "boolean", default = true, only = { "cope" },
    doc = "whether the product of the query and a vector of the table is divided by sqrt(D), as in the authors' code; "
      .. "false: only the product of query and key is divided, as in the paper" },
  { path = "encoding.relative.init_sigma", is_rare = true, type = "number", above = 0, only = { "shaw" },
    optional = true,
    doc = "standard deviation of the table's initial values; absent: sqrt(2 / (rows + D)), with D channels per head" },
}

function M.find_read_input(encoding)
  return predicates.has_distance_vectors(encoding) and "distances"
end

local KIND = "encoding.relative.kind"

-- Refuses attention that sees later keys, and facets that change or hide logits, since the gates of cope are computed
-- from all logits of earlier keys.
local function check_gates(view, report, are_causal)
  local encoding = view.resolved.encoding
  local mask, normaliser = encoding.mask or {}, encoding.normaliser or {}
  local function refuse(path, is_set, message, expected)
    if is_set then
      report.refuse(path, KIND, '"cope"', { what = message, expected = expected })
    end
  end
  local kind = mask.kind or "full"
  refuse(KIND, lists.has(view.family_names, "cross"), "cope counts keys of the query's own sequence", '"none", "shaw"')
  refuse("encoding.mask.kind", kind ~= "causal" and not (are_causal and kind == "full"),
    "cope counts the keys from a key to its query, so a query must see all of these keys and no later key",
    '"causal", or model.kind = "decoder"')
  refuse("encoding.rotation.kind", encoding.rotation and encoding.rotation.kind ~= "none",
    "a rotation would change the logits from which cope computes gates", '"none"')
  refuse("encoding.score", encoding.score, "a score cannot be used with cope", "no score")
  refuse("encoding.lines", encoding.lines, "a table of lines hides keys that cope counts", "no lines")
  refuse("encoding.normaliser.temperature", (normaliser.temperature or 1) ~= 1,
    "a temperature would divide the logits from which cope computes gates", "1")
end

-- Refuses a table that has vectors only for the query's own token and earlier keys, if queries also see later keys.
function M.check(view, report)
  local relative, mask = view.resolved.encoding.relative, view.resolved.encoding.mask
  local are_causal = predicates.are_decoders(view)
  if relative and relative.kind == "cope" then
    check_gates(view, report, are_causal)
  end
  if relative and relative.sides == "left" and not are_causal
    and not (mask and (mask.kind == "causal" or mask.kind == "window" and mask.right == 0)) then
    report.refuse("encoding.relative.sides", "encoding.mask.kind", ("%q"):format(mask and mask.kind or "full"), {
      what = '"left" has no vectors for keys after the query, and the mask does not hide these keys',
      expected = '"both"; or encoding.mask = { kind = "causal" }' })
  end
end

function M.warn_unreached(view, report)
  local relative = view.resolved.encoding.relative
  if view.causal and relative.kind == "shaw" and relative.sides ~= "left" then
    report.warn(("%s: the vectors of distances 1 to %d never get a gradient: the mask hides all keys after a query")
      :format(report.get_path("encoding.relative.sides"), relative.clip))
  end
end

-- The plan of cope, whose queries count keys.
local function plan_counts(relative, family)
  return { kind = "cope", counts_keys = true, toeplitz = false, rotated = false, biases = false,
    has_step_tables = false, vectors_per_query = 2, rows = relative.rows, width = family.head_width,
    padded_elements = vector_width.round_up(relative.rows * family.head_width),
    factor = not relative.divided and math.sqrt(family.head_width) or false }
end

local NONE = { kind = "none", toeplitz = false, rotated = false, biases = false, has_step_tables = false,
  vectors_per_query = 2 }

function M.plan(encoding, family, context)
  local relative, positions = encoding.relative, family.positions
  local distance = positions.distance
  if relative.kind == "none" then
    return NONE
  elseif relative.kind == "cope" then
    return plan_counts(relative, family)
  end
  local is_toeplitz, has_biases = distance.kind ~= "difference", relative.kind == "transformer_xl"
  local draw_count = not is_toeplitz and positions.draws or distance.draws or family.layers
  local plan = {
    kind = relative.kind,
    toeplitz = is_toeplitz,
    rotated = has_biases and not is_toeplitz,
    set_count = draw_count >= family.layers and family.layers or 1,
    biases = has_biases,
    has_step_tables = is_toeplitz or has_biases,
    width = context.width,
    vectors_per_query = has_biases and 3 or 2,
  }
  if relative.kind == "shaw" then
    plan.width = family.head_width
    plan.clip = relative.clip
    plan.left = relative.sides == "left"
    plan.rows = plan.left and relative.clip + 1 or 2 * relative.clip + 1
    plan.rows_text = ("%s%sCLIP + 1"):format(plan.left and "" or "2 * ", family.PREFIX)
    plan.farthest = plan.left and "0" or family.PREFIX .. "CLIP"
    plan.init_sigma = relative.init_sigma or math.sqrt(2 / (plan.rows + plan.width))
    plan.padded_elements = vector_width.round_up(plan.rows * plan.width)
  end
  plan.times_sets = plan.set_count > 1 and family.PREFIX .. "RELATIVE_SETS * " or ""
  plan.set_of_layer = plan.set_count == 1 and "0" or "l"
  plan.sets_words = plan.set_count == 1 and ", shared by all layers" or ", one for each layer"
  plan.width_words = has_biases and "all heads side by side" or "the heads share it"
  plan.table_words = not has_biases and "the rows of each layer"
    or plan.rotated and "for each set, the sinusoids of keys, and channel by channel the sinusoids of queries"
    or "the sets' sinusoids, the layers' rows, and these rows before they are transposed"
  return plan
end

local WORDS = {
  cope = "the vector of a key depends on the sum of the query's gates from the key to the query, at most %d",
  transformer_xl = "logits have vectors of the signed distance, with content and position bias",
  shaw = "keys have a learned vector of the distance, the same for distances above %d",
  left = "keys up to the query have a learned vector of the distance, the same for distances above %d",
}

function M.describe(family)
  local relative = family.relative
  return relative.kind ~= "none"
    and WORDS[relative.left and "left" or relative.kind]:format(relative.clip or relative.rows and relative.rows - 1)
    or nil
end

function M.add_choices(plan, families, add)
  for _, family in ipairs(families) do
    local relative = family.relative
    if relative.counts_keys then
      add("vectors of counts", "by row", "every query counts its keys in a pass over its logits, then adds "
        .. "products with the table to the logits")
    elseif relative.kind ~= "none" then
      local value, reason = "by pair",
        "differences of random positions: each pair looks up its own vector, which is several times slower"
      if relative.toeplitz then
        value = "by diagonal"
        reason = "computed once per step for every difference (key - query); adjacent queries read adjacent vectors"
      elseif relative.rotated then
        value = "by query"
        reason = "differences of random positions: on the CPU each query is rotated once by its position and "
          .. "multiplied with the sinusoids of the keys' positions; on a GPU each pair looks up its own vector"
      end
      add(plan.streams[2] and "distance vectors, " .. family.name or "vectors of distances", value, reason)
    end
  end
end

function M.identify(encoding)
  local relative = encoding.relative
  if relative.kind == "cope" then
    return { relative = { "cope", relative.rows, relative.divided } }
  end
  return { relative = relative.kind ~= "none" and { relative.kind, relative.clip or false,
    encoding.positions.reading or false, relative.sides } or nil }
end

-- An item { pairs, queries } for each attention that may sum gradients of vectors in blocks. Sequences with more than
-- `pairs` pairs of tokens have blocks of `queries` queries.
function M.identify_sums(plan)
  local sums_by_block = lists.map(plan.attentions, function(family)
    local recomputed = family.relative.toeplitz and family.recomputed
    return recomputed and { recomputed.always and 0 or recomputed.pairs, recomputed.queries } or nil
  end)
  return { rows_by_block = sums_by_block[1] and sums_by_block or nil }
end

-- Kind -> the templates of the part `relative` of exported Python files.
local PYTHON_TEMPLATES = { transformer_xl = { "rows_of_waves" }, shaw = { "rows_of_table" },
  cope = { "rows_by_count" } }

-- Parts of exported Python files; modules.lua describes their fields.
M.parts = { { name = "relative", rank = 60,
  fields = { "relative", "clip", "farthest", "relative_rows", "count_factor" }, names = { "Relative" } } }

function M.export(family, context)
  local relative = family.relative
  local kind = relative.kind ~= "none" and relative.kind
  local input_name = context.key_prefix .. "distance"
  context.extra_inputs[input_name] = kind and not relative.counts_keys and true or context.extra_inputs[input_name]
  context.part_texts.relative = PYTHON_TEMPLATES[kind]
  context.calls.sinusoid = kind == "transformer_xl" or nil
  return { relative = kind, clip = relative.clip or false, farthest = relative.left and 0 or relative.clip or false,
    relative_rows = relative.rows or false, count_factor = relative.factor or false }
end

-- The property that says how the vector of a pair enters its logit (attention/terms.lua) -> the term's template.
local TERM_TEMPLATES = { by_offset = "rows_by_offset", by_pair = "rows_by_pair", by_rotation = "rows_by_rotation" }

-- The terms of attention. Templates name no facet, so they read this facet's plan as the variable `rows`.
function M.make_terms(family)
  local relative = family.relative
  if relative.kind == "none" then
    return nil
  elseif relative.counts_keys then
    return { { kind = "pair_vector", template = "rows_by_count", vectors_per_query = relative.vectors_per_query,
      rows = relative, properties = { pair_vectors = true, scans_logits = true, maps_logits = true,
        changes_gradient = true, has_sums = true, needs_first_query = true } } }
  end
  local form = relative.rotated and "by_rotation" or relative.toeplitz and "by_offset" or "by_pair"
  local terms = { { kind = "pair_vector", template = TERM_TEMPLATES[form],
    vectors_per_query = relative.vectors_per_query, rows = relative, properties = { pair_vectors = true,
      [form] = true, has_biases = relative.biases, has_sums = true, needs_first_query = form == "by_pair",
      computes_tables = relative.has_step_tables } } }
  local function add(template)
    terms[#terms + 1] = { kind = "row_source", template = template, rows = relative, properties = {} }
  end
  if form == "by_offset" then
    add(relative.biases and "rows_of_waves" or "rows_of_table")
  end
  if relative.biases then
    add("biases")
  end
  return terms
end

M.ROTATED_KEYS = 8 -- the constant of this name in kernels/cpu/rotated.h

-- Bytes of scratch memory for the counts of a family, for T queries and keys.
local function count_scratch(family, sizes, T)
  local rows, recomputed = family.relative.rows + 1, family.recomputed
  local recomputes = recomputed and (recomputed.always or T * T > recomputed.pairs)
  local groups = recomputes and recomputed.queries // sizes.lanes or sizes.round_up(T, sizes.lanes) // sizes.lanes
  return sizes.reals(rows * sizes.lanes) + 2 * sizes.reals(T * sizes.lanes)
    + sizes.reals(groups * sizes.round_up(rows, sizes.key_unit(family)) * sizes.lanes)
end

-- Bytes of the sums of a shard, and of the tables that begin_step fills; see `count_bytes` in modules.lua.
function M.count_bytes(family, sizes, T, S)
  local relative, round_up, step_tables = family.relative, sizes.round_up, 0
  if relative.kind == "none" then
    return nil
  elseif relative.counts_keys then
    return { scratch = count_scratch(family, sizes, T),
      sums = family.layers * sizes.reals(sizes.round_up(relative.rows + 1, sizes.key_unit(family)) * relative.width) }
  end
  -- Rounds up to an odd number of vectors, like the strides in the templates of the tables.
  local function round_stride(elements)
    return (round_up(elements, sizes.lanes) // sizes.lanes | 1) * sizes.lanes
  end
  -- The rows of a layer's summed gradient: of the learned map W, of the vectors of all offsets, or of the table.
  local gradient_rows = relative.rotated and relative.width
    or relative.toeplitz and T + S - 1 or relative.rows
  if relative.rotated then
    step_tables = relative.set_count * (round_up(S, M.ROTATED_KEYS) + round_stride(T + sizes.lanes - 1)) * sizes.width
  elseif relative.has_step_tables then
    -- Arrays of the sets' sinusoids, and of the layers' rows before they are transposed.
    local array_elements = relative.biases and round_up(gradient_rows, sizes.tile_rows) * sizes.width or 0
    local array_count = relative.biases and relative.set_count + family.layers or 0
    step_tables = array_count * array_elements + family.layers * round_stride(T + S + sizes.lanes - 2) * relative.width
  end
  return { step_tables = sizes.reals(step_tables), sums = family.layers * (sizes.reals(gradient_rows * relative.width)
    + (relative.biases and sizes.reals(2 * sizes.width * sizes.lanes) or 0)) }
end

return M
