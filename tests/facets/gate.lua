-- Facet `gate`: a score falls with the distance of its pair, at a speed that a learned map of the key gives for each
-- head.

local M = { name = "gate", off_value = { kind = "none" }, excludes_cross = true }

M.fields = {
  { path = "encoding.gate", type = "table", omitted_value = "none", doc = "whether keys say how far they are seen" },
  { path = "encoding.gate.kind", type = "kind", default = "none", doc = "its form",
    kinds = { { name = "none", doc = "they do not" }, { name = "distance", doc = "scores fall with the distance" } } },
}

local function is_on(family) return family.gate.kind == "distance" or nil end

function M.identify(encoding) return { gate = encoding.gate } end
function M.plan(encoding) return encoding.gate or M.off_value end
function M.describe_details(family) return is_on(family) and "scores fall as keys say" end

function M.request_value(family)
  return is_on(family) and { name = "gate", columns = family.heads, description = "a number of every head" }
end

function M.make_terms(family)
  return is_on(family) and { { kind = "pair_scalar", template = "gated",
    properties = { maps_logits = true, needs_first_query = true } } }
end

M.parts = { { name = "gate", rank = 90, fields = {}, names = {} } }

function M.export(family, context)
  context.part_texts.gate, context.calls.indices = is_on(family) and { "gated" }, is_on(family) or context.calls.indices
  return {}
end

return M
