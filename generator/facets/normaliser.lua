-- The module of the facet `normaliser`: the function that computes the weights of keys from their scores. modules.lua
-- describes modules of facets.
--
-- Stick-breaking attention gives every query a stick of length 1. One key after another, the nearest earlier key first,
-- takes a part of the remaining stick as its weight; the rest is the part that remains after all keys.
-- Geometric attention visits keys outwards, the nearest key first. Of two keys at the same distance, the key on the
-- right of the query comes first.
--
-- Input of M.plan: the resolved encoding, and the family with the plans of earlier facets (modules.lua).
-- Output:
--   kind             "softmax", "geometric" or "stick_breaking"
--   temperature      of softmax: the number that divides scores
--   normalised       of geometric: whether the weights of a query are divided by their sum
--   directional      of geometric: whether a learned map of the layer's input gives two values for each query: one is
--                    added to the scores of keys on its right, the other to the scores of keys on its left
--   padding          of geometric: the number of unused elements that fill a layer's learned numbers up to a whole
--                    vector
--   own_key          of stick_breaking: whether the query's own key is the first key that takes a part of the stick
--   own_value        of stick_breaking: whether the rest of the stick is the weight of the query's own value

local lists = require("base.lists")
local predicates = require("facets.predicates")
local vector_width = require("base.vector_width")

local M = { name = "normaliser", off_value = { kind = "softmax" } }

-- Fields of specs (spec/schema.lua). `fingerprints`: texts that generated code has only if the feature is on.
M.fields = {
  { path = "encoding.normaliser", type = "table", omitted_value = "softmax",
    doc = "the function from scores to attention weights" },
  { path = "encoding.normaliser.kind", type = "kind", default = "softmax", doc = "the kind of function",
    kinds = {
      { name = "softmax", doc = "exponentials of the scores, divided by their sum" },
      { name = "geometric", fingerprints = { "geometric" },
        doc = "keys are tried by distance, at each distance first the key on the right; a weight is the "
          .. "probability that this key is the first to match" },
      { name = "stick_breaking", fingerprints = { "break_stick" },
        doc = "keys take parts of a stick of length 1, the nearest earlier key first: each key takes the share "
          .. "sigmoid(score) of the rest" },
    } },
  { path = "encoding.normaliser.temperature", is_rare = true, type = "number", above = 0, max = 1e6, default = 1,
    omitted_value = 1, only = { "softmax" }, doc = "number that divides scores before their exponentials" },
  { path = "encoding.normaliser.normalised", is_rare = true, type = "boolean", default = true, only = { "geometric" },
    fingerprints = { "LEAST_TOTAL" }, doc = "whether the weights of a query are divided by their sum" },
  { path = "encoding.normaliser.directional", is_rare = true, type = "boolean", default = true, only = { "geometric" },
    fingerprints = { "direction_scale", "DIRECTION_WIDTH" },
    doc = "whether a learned map of the layer's input adds one value to the scores of keys on the right, and another "
      .. "to those on the left" },
  { path = "encoding.normaliser.own_key", is_rare = true, type = "boolean", default = false,
    only = { "stick_breaking" },
    doc = "whether the first key is the query's own; false: the key before it" },
  { path = "encoding.normaliser.rest", is_rare = true, type = "choice", default = "dropped",
    only = { "stick_breaking" }, doc = "the use of the part of the stick that no key gets",
    choices = {
      { "dropped", "the weights of a query add up to less than 1" },
      { "own_value", "this part is the weight of the query's own value" } } },
}

local KIND = "encoding.normaliser.kind"

-- Refuses facets that change scores or hide pairs, since geometric attention cannot be used with them.
local function check_geometric(encoding, report)
  local function refuse(path, is_set, subject)
    if is_set then
      report.refuse(path, KIND, '"geometric"', { what = subject .. " cannot be used with geometric attention",
        expected = "no mask, lines, vectors of distances or score; additive and rotation are allowed",
        hint = "leave out one of these two parts: geometric attention knows positions by the order in which it tries "
          .. "keys" })
    end
  end
  local mask, relative = encoding.mask, encoding.relative
  refuse("encoding.mask.kind", mask and mask.kind ~= "full", "a mask")
  refuse("encoding.lines", encoding.lines, "a table of lines")
  refuse("encoding.relative.kind", relative and relative.kind and relative.kind ~= "none", "a vector of distances")
  refuse("encoding.score", encoding.score, "a score")
end

-- Refuses geometric attention in a decoder and in cross-attention: it needs keys on both sides of each query, in the
-- sequence of the query. view.family_names lists the attention families to which the encoding applies, the encoder
-- first.
local function check_sides(view, report)
  local kind = view.resolved.model.kind
  if kind == "decoder" then
    report.refuse(KIND, "model.kind", '"decoder"', { what = "geometric attention cannot be used with a decoder",
      expected = '"softmax"; geometric attention tries keys on both sides, and a decoder sees only earlier keys',
      hint = 'model.kind = "encoder" has geometric attention' })
  elseif kind == "encoder_decoder" and (view.family_names[#view.family_names] or "encoder") ~= "encoder" then
    report.refuse(KIND, "model.kind", '"encoder_decoder"', {
      what = "geometric attention is only for the encoder's self-attention",
      expected = '"softmax"; it tries keys on both sides of the query, within one sequence',
      hint = 'encoding.encoder = { normaliser = { kind = "geometric" } } is for the encoder alone' })
  end
end

-- Refuses, for stick-breaking attention, masks that show later keys or hide earlier keys, and facets that change
-- scores.
local function check_stick(view, report)
  local encoding = view.resolved.encoding
  local relative, mask = encoding.relative or {}, (encoding.mask or {}).kind or "full"
  local function refuse(path, is_set, message, expected)
    if is_set then
      report.refuse(path, KIND, '"stick_breaking"', { what = message, expected = expected })
    end
  end
  refuse(KIND, lists.has(view.family_names, "cross"), "stick-breaking attention needs keys of the query's own sequence",
    '"softmax"')
  refuse("encoding.mask.kind", mask ~= "causal" and not (predicates.are_decoders(view) and mask == "full"),
    "stick-breaking attention visits all keys before the query and no later key, so it needs a causal mask",
    '"causal", or model.kind = "decoder"')
  refuse("encoding.lines", encoding.lines, "a table of lines hides keys from stick-breaking attention", "no lines")
  refuse("encoding.relative.kind", (relative.kind or "none") ~= "none",
    "a vector of distances cannot be used with stick-breaking attention", '"none"')
  refuse("encoding.score", encoding.score, "a score cannot be used with stick-breaking attention", "no score")
end

-- Words for the kinds without a softmax.
local NAMES = { geometric = "geometric attention", stick_breaking = "stick-breaking attention" }

function M.check(view, report)
  local encoding, model = view.resolved.encoding, view.resolved.model
  local kind = encoding.normaliser and encoding.normaliser.kind
  if not NAMES[kind] then
    return
  end
  if model and (model.attention_dropout or 0) > 0 then
    report.refuse("model.attention_dropout", KIND, ("%q"):format(kind), {
      expected = '0, or encoding.normaliser.kind = "softmax"',
      what = ("%s cannot be used with dropout of weights"):format(NAMES[kind]) })
  end
  if kind == "stick_breaking" then
    check_stick(view, report)
  else
    check_geometric(encoding, report)
    check_sides(view, report)
  end
end

function M.plan(encoding, family)
  local normaliser = encoding.normaliser
  if not normaliser or normaliser.kind == "softmax" then
    return { kind = "softmax", temperature = normaliser and normaliser.temperature or 1 }
  end
  if normaliser.kind == "stick_breaking" then
    return { kind = "stick_breaking", own_key = normaliser.own_key, own_value = normaliser.rest == "own_value" }
  end
  if family.cross then
    error({ problem = true, field = ("encoding.%s.normaliser"):format(family.spec_name), expected = "softmax",
      what = "geometric attention tries keys outwards in one sequence, but queries and keys of this attention are from "
        .. "two sequences" })
  end
  local learned_numbers = normaliser.directional and 3 or 2 -- scale and offset of logits, and the scale of directions
  return {
    kind = "geometric",
    normalised = normaliser.normalised,
    directional = normaliser.directional,
    padding = vector_width.WIDEST - learned_numbers,
  }
end

function M.describe(family)
  local normaliser = family.normaliser
  if normaliser.kind == "stick_breaking" then
    return ("stick-breaking attention that begins with %s and %s"):format(
      normaliser.own_key and "the query's own key" or "the key before the query",
      normaliser.own_value and "gives the rest to the query's own value" or "drops the rest")
  end
  return normaliser.kind == "geometric" and ("geometric attention, %sweights %s by their sum"):format(
    normaliser.directional and "with directional encoding, " or "",
    normaliser.normalised and "divided" or "not divided") or nil
end

function M.describe_details(family)
  local temperature = family.normaliser.temperature or 1
  return temperature ~= 1 and ("softmax at a temperature of %.9g"):format(temperature) or nil
end

local SENTENCES = {
  softmax = "%s-attention over whole sequences, forward and backward: softmax(q k / sqrt(head width)) v.",
  geometric = "%s-attention over whole sequences, forward and backward: every query tries keys outwards until one "
    .. "matches, at each distance first the key on its right.",
  stick_breaking = "%s-attention over whole sequences, forward and backward: keys take parts of the query's stick, the "
    .. "nearest key first, and each key takes a share of the rest.",
}

function M.describe_attention(family)
  return SENTENCES[family.normaliser.kind]:format(family.cross and "Cross" or "Self")
end

function M.describe_device_choice(family)
  if family.attends.visits_by_distance then -- a query visits its keys by distance (cuda_half.lua)
    return { what = "gpu attention", value = "weights recomputed",
      why = "a thread owns a query, then a key: the backward pass loops over queries, then over keys, and stores the "
        .. "results for a layer's pairs between these loops" }
  end
  return { what = "gpu attention", value = "probabilities recomputed", why = (family.attends.in_fragments
    and "a warp owns queries, then keys, of a head and computes their pairs in fragments of tensor instructions"
    or "a thread owns a query, a key or a distance and loops over its pairs") .. ": no atomics, a fixed order of sums" }
end

function M.identify(encoding)
  return { normaliser = encoding.normaliser }
end

-- Parts of exported Python files; modules.lua describes their fields.
M.parts = { { name = "geometric", rank = 70, fields = { "geometric" },
  names = { "Geometric", "Direction", "match_first" } },
  { name = "stick", rank = 71, fields = { "stick" }, names = { "break_stick" } } }

function M.export(family, context)
  local normaliser = family.normaliser
  if context.crosses and normaliser.kind == "geometric" then
    -- An error of this form ends a command with the exit code 1 (lab/stop.lua). The message is `text` after the words
    -- "the PyTorch export does not know".
    local text = ("the order of keys of attention %s, which is between two streams"):format(family.name)
    error({ code = 1, text = text }, 0)
  end
  local geometric = normaliser.kind == "geometric" and normaliser
  context.part_texts.geometric = geometric and (geometric.directional and { "matches", "directions", "outwards" }
    or { "matches", "outwards" })
  context.calls.indices = geometric and true or context.calls.indices
  local stick = normaliser.kind == "stick_breaking" and normaliser
  context.part_texts.stick = stick and { "stick" } or nil
  return { geometric = geometric, stick = stick,
    temperature = (normaliser.temperature or 1) ~= 1 and normaliser.temperature }
end

function M.request_value(family)
  return family.normaliser.directional and { name = "direction", columns = 2 * family.heads, bias = true,
    comment = "(right, left) of every head", description = "right and left of every head" } or nil
end

-- The terms: the function that computes the weights of a query, and for directional attention the values from the
-- learned map.
function M.make_terms(family)
  local normaliser = family.normaliser
  if normaliser.kind == "stick_breaking" then
    return { { kind = "row_function", template = "stick", own_key = normaliser.own_key,
      own_value = normaliser.own_value, properties = { breaks_stick = true, needs_first_query = true } },
      normaliser.own_value and { kind = "row_function", template = "stick_rests", properties = { saves_rests = true } }
        or nil }
  end
  local is_geometric = normaliser.kind == "geometric"
  return { { kind = "row_function", template = is_geometric and "outwards" or "exponential",
    properties = { visits_outwards = is_geometric, normalised = not is_geometric or normaliser.normalised,
      has_sums = is_geometric } },
    normaliser.directional and { kind = "contribution", template = "directions", properties = { has_directions = true },
      has_unused_columns = family.requested_value.width > family.requested_value.columns } or nil }
end

function M.count_bytes(family, sizes)
  local normaliser = family.normaliser
  return normaliser.kind == "geometric" and { sums = family.layers
    * sizes.padded((sizes.width + (normaliser.directional and 3 or 2)) * sizes.vector) } or nil
end

return M
