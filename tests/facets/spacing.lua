-- Facet `spacing`: the first `heads` heads see only keys at even offsets, if there is more than one key.

local M = { name = "spacing", off_value = { kind = "all" }, decoder_kinds = { even = true }, excludes_cross = true }

M.fields = {
  { path = "encoding.spacing", type = "table", omitted_value = "all", doc = "which offsets heads see" },
  { path = "encoding.spacing.kind", type = "kind", default = "all", doc = "its form",
    kinds = { { name = "all", doc = "each sees all" }, { name = "even", doc = "the first ones see even offsets" } } },
  { path = "encoding.spacing.heads", type = "integer", min = 1, max = 64, required = true, only = { "even" },
    doc = "how many heads see even offsets" },
}

function M.check(spec, say)
  local spacing, heads = spec.resolved.encoding.spacing or {}, spec.resolved.model.heads
  if spacing.heads and heads and spacing.heads > heads then
    say.refuse("encoding.spacing.heads", "model.heads", heads, { what = spacing.heads .. " heads",
      expected = "at most " .. heads })
  end
end

function M.identify(encoding) return { spacing = encoding.spacing } end
function M.plan(encoding) return encoding.spacing or M.off_value end
function M.describe_details(family)
  return family.spacing.heads and family.spacing.heads .. " heads see even offsets"
end
function M.hides(family, h, i, j, S) return h < (family.spacing.heads or 0) and S > 1 and (i - j) % 2 ~= 0 end
function M.make_terms(family)
  return family.spacing.heads and { { kind = "domain", template = "even", count = family.spacing.heads, properties = {
    hides_keys = true, differs_by_head = true, tests_all = true, has_scattered_keys = true, needs_head_number = true,
    needs_first_query = true } } } or nil
end

M.parts = { { name = "spacing", rank = 80, fields = { "spacing" }, names = { "odd" } } }

function M.export(family, context)
  local heads = family.spacing.heads
  context.part_texts.spacing, context.calls.indices = heads and { "even" }, heads and true or context.calls.indices
  return { spacing = heads or false }
end

return M
