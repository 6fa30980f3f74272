-- The module of the facet `mask`: the keys that a query sees. If the encoding has lines, they make the mask, see
-- lines.lua. modules.lua describes modules of facets.
--
-- Input of M.plan: the resolved encoding, and the family with the plans of earlier facets (modules.lua).
-- Output:
--   kind             "none", "causal", "window", "antidiagonal" or "lines"
--   description      the visible keys in words; absent if all keys are visible
--   sees_all         whether a query without any visible key sees all keys
-- Fields of causal and window masks:
--   left             the number of visible keys before the query; false: no limit
--   right            the number of visible keys after the query
-- Fields of antidiagonal masks. With S keys, query i sees the existing keys from (S + low - stride * i) to
-- (S + high - stride * i):
--   low, high, stride   the numbers in these formulas
--   left             always false
--   width, left_only   the fields of the spec
--   low_text         C text of S + low, such as "S - 3"
--   high_text        C text of S + high
--   beyond_text      C text of S + high + 1
-- Fields of masks of kind "lines" are described in facets/lines.lua.

local lines_facet = require("facets.lines")

local M = { name = "mask", off_value = { kind = "full" }, decoder_kinds = { causal = true, window = true } }

-- Whether the facet `mask` hides keys; if the encoding has lines, the facet `lines` hides them instead.
local function hides_keys(resolved)
  local mask, list, kind = resolved.encoding.mask or {}, resolved.encoding.lines, resolved.model.kind
  return ((mask.kind or "full") ~= "full" or kind == "decoder" or kind == "encoder_decoder")
    and not (list and #list.list > 0)
end

-- Fields of specs (spec/schema.lua). Generated code calls `visible` for every mask that hides keys, not only for the
-- causal mask.
M.fields = {
  { path = "encoding.mask", type = "table", omitted_value = "full",
    doc = "the keys that a query sees, by their indices",
    details = { "in a decoder no query sees later tokens, whatever the mask" } },
  { path = "encoding.mask.kind", type = "kind", default = "full", doc = "the shape of the mask",
    kinds = {
      { name = "full", doc = "all keys" },
      { name = "causal", fingerprints = { "visible" }, doc = "the query's own token and all tokens before it",
        used = hides_keys, shared = hides_keys },
      { name = "window",
        doc = "at most left tokens before the query, its own token, and at most right tokens after it" },
      { name = "antidiagonal",
        doc = "keys near a line: the first query sees the last keys, and later queries see earlier keys" },
    } },
  { path = "encoding.mask.left", type = "integer", min = 0, max = 1048576, required = true, only = { "window" },
    unit = "tokens", doc = "number of visible keys before the query" },
  { path = "encoding.mask.right", type = "integer", min = 0, max = 1048576,
    default = function(resolved) return resolved.encoding.mask.left end, default_text = "left", only = { "window" },
    unit = "tokens", doc = "number of visible keys after the query" },
  { path = "encoding.mask.width", is_rare = true, type = "integer", min = 0, max = 1048576, required = true,
    only = { "antidiagonal" }, unit = "tokens", doc = "number of visible keys on each side of the line" },
  { path = "encoding.mask.stride", is_rare = true, type = "integer", min = 1, max = 16, default = 1,
    only = { "antidiagonal" }, unit = "tokens",
    doc = "number of keys on the line for each query, and by which the line moves left from one query to the next; "
      .. "for example stride = 2 if the digits of two operands alternate: the line then has a digit of each",
    details = { "with S keys, query i sees keys S - stride (i + 1) - width to S - 1 - stride i + width",
      "keys outside the sequence are left out; a query for which no key remains sees all keys" } },
  { path = "encoding.mask.left_only", is_rare = true, type = "boolean", default = false, only = { "antidiagonal" },
    doc = "whether keys to the right of the line are hidden" },
}

-- Refuses an anti-diagonal in a decoder's self-attention: its line begins at the last key, which the first query there
-- does not see.
function M.check(view, report)
  local mask, kind = view.resolved.encoding.mask, view.resolved.model.kind
  for _, name in ipairs(mask and mask.kind == "antidiagonal" and view.family_names or {}) do
    if name == "decoder" or kind == "decoder" then
      report.refuse("encoding.mask.kind", "model.kind", ("%q"):format(kind), {
        what = "the line begins at the last key, which the first query of a decoder does not see",
        expected = kind == "encoder_decoder" and 'encoding.cross = { mask = { kind = "antidiagonal" } }, '
          .. "the decoder's attention to the encoder" or '"window" or "causal"' })
      return
    end
  end
end

-- C text of S, the number of keys, plus a number of tokens.
local function write_key_count(tokens)
  return tokens == 0 and "S" or ("S %s %d"):format(tokens < 0 and "-" or "+", math.abs(tokens))
end

local function plan_antidiagonal(mask)
  local high = mask.left_only and -1 or mask.width - 1
  local sides = mask.left_only and "to the left" or "on each side"
  return { kind = "antidiagonal", left = false, stride = mask.stride, width = mask.width, left_only = mask.left_only,
    low = -mask.stride - mask.width, high = high, sees_all = true,
    low_text = write_key_count(-mask.stride - mask.width), high_text = write_key_count(high),
    beyond_text = write_key_count(high + 1),
    description = ("each query sees %s of the anti-diagonal and %s more %s"):format(
      mask.stride == 1 and "one key" or mask.stride .. " keys", mask.width == 1 and "one" or mask.width, sides) }
end

function M.plan(encoding, family)
  local mask, is_causal = encoding.mask, family.causal
  local lines = encoding.lines and lines_facet.make_mask(encoding, family, is_causal or mask ~= nil
    and mask.kind == "causal")
  if lines then
    return lines
  elseif not mask and not is_causal then
    return { kind = "none" }
  elseif not mask or mask.kind == "causal" then
    return { kind = "causal", left = false, right = 0, sees_all = false,
      description = "queries see themselves and the keys before them" }
  elseif mask.kind == "antidiagonal" then
    return plan_antidiagonal(mask)
  elseif is_causal then
    return { kind = "window", left = mask.left, right = 0, sees_all = false,
      description = ("queries see themselves and %d keys before them"):format(mask.left) }
  end
  return { kind = "window", left = mask.left, right = mask.right, sees_all = family.cross,
    description = ("queries see themselves, %d keys before and %d after them"):format(mask.left, mask.right) }
end

function M.describe_details(family)
  return family.mask.description
end

function M.identify(encoding)
  return { mask = encoding.mask }
end

-- The condition in Python under which a pair is hidden, or false if no pair is hidden. The variable `offset` of the
-- text is (key - query); for an anti-diagonal it is (key - S + stride * query).
local function write_condition(mask)
  if mask.kind == "none" or mask.kind == "lines" then
    return false
  elseif mask.kind == "antidiagonal" then
    return ("(offset < %d) | (offset > %d)"):format(mask.low, mask.high)
  end
  return mask.left and ("(offset < -%d) | (offset > %d)"):format(mask.left, mask.right)
    or ("offset > %d"):format(mask.right)
end

-- Parts of exported Python files; modules.lua describes their fields.
M.parts = { { name = "mask", rank = 20, fields = { "mask", "crosses", "stride" }, names = { "hidden" } },
  { name = "lines", rank = 30, fields = { "lines", "crosses", "heads" }, names = { "line_values" } } }

function M.export(family, context)
  local mask, text = family.mask, write_condition(family.mask)
  local lines = mask.kind == "lines" and lines_facet.export_mask(mask) or false
  context.part_texts.mask = text and { "span" }
  context.part_texts.lines = lines and { "segments" }
  context.calls.indices = (text or lines) and true or context.calls.indices
  return { mask = text, stride = mask.stride or false, lines = lines }
end

-- The name of the term's template, by the kind of mask.
local TERM_TEMPLATES = { causal = "band", window = "band", antidiagonal = "stripe", lines = "segments" }

-- The terms of attention. attention/terms.lua explains all properties, such as has_open_keys.
function M.make_terms(family)
  local mask, template = family.mask, TERM_TEMPLATES[family.mask.kind]
  local is_band, has_lines = template == "band", template == "segments"
  return template and { { kind = "domain", template = template,
    device_templates = not has_lines and { template, "span" } or nil, visibility = mask,
    properties = { has_spans = true, hides_keys = not has_lines, adds_values = has_lines,
      has_scattered_keys = has_lines, needs_head_number = has_lines,
      has_open_keys = is_band, open_keys_begin_later = is_band and mask.left ~= false, sees_all = mask.sees_all,
      needs_first_query = true } } }
end

return M
