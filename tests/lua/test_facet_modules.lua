-- Facets as modules: a facet from outside of the generator is read, checked, planned, described and exported, and
-- digests contain it.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")

require("tests.facets.enter")

local spacing_facet = require("tests.facets.spacing") -- the first `heads` heads see only keys at even offsets

function spacing_facet.warn(spec, say)
  local spacing = spec.resolved.encoding.spacing
  if spacing and spacing.heads == spec.resolved.model.heads then
    say.warn(say.get_path("encoding.spacing.heads") .. ": no head sees odd offsets")
  end
end

local describe = require("plan.pages.describe")
local exports = require("exports")
local masks = require("lab.pages.masks")
local plans = require("plans")
local schema = require("spec.schema")

local SPEC = "return { task = { kind = 'bucket_sort' }, model = { kind = '%s' }, encoding = { kind = 'rope', %s } }"

local function make_plan(spacing, kind)
  local resolved, info, d = support.check_text(SPEC:format(kind or "encoder", spacing))
  assert(resolved, d:text())
  return plans.build(resolved), info
end

local function list_terms(family)
  local words = {}
  for i, term in ipairs(family.terms) do
    words[i] = term.template
  end
  return table.concat(words, " ")
end

TestFacetModules = {}

function TestFacetModules.test_fields_are_documented_and_checked()
  lu.assertStrContains(schema.format_fields(), "encoding.spacing.heads  (kind even)\n"
    .. "    how many heads see even offsets\n")
  local _, _, d = support.check_text(SPEC:format("encoder", "spacing = { kind = 'evn', heads = 1 }"))
  lu.assertStrContains(d:text(), 'hint: did you mean "even"?')
  _, _, d = support.check_text(SPEC:format("encoder", "spacing = { kind = 'even', heads = 9 }"))
  lu.assertStrContains(d:text(), "encoding.spacing.heads: 9 heads\n")
end

function TestFacetModules.test_a_facet_is_planned_described_and_in_digests()
  local without_facet, with_facet_off = make_plan(""), make_plan("spacing = { kind = 'all' }")
  lu.assertEquals(with_facet_off.digest, without_facet.digest)
  local plan, info = make_plan("spacing = { kind = 'even', heads = 8 }")
  lu.assertEquals(info.warnings, { "encoding.spacing.heads: no head sees odd offsets" })
  lu.assertStrContains(describe.describe_encoding(plan), "; 8 heads see even offsets")
  lu.assertNotEquals(plan.digest, without_facet.digest)
  lu.assertNotEquals(plan.model_digest, without_facet.model_digest)
  lu.assertEquals({ list_terms(plan.first_family), plan.first_family.terms.hides_keys },
    { "draws rotation even exponential", true })
end

function TestFacetModules.test_pictures_show_visible_keys()
  local words = {}
  for h, rows in ipairs(masks.list_cells(make_plan("spacing = { kind = 'even', heads = 7 }").first_family, 2, 3)) do
    for i, row in ipairs(rows) do
      words[#words + 1] = h > 6 and ("head %d, query %d: %s%s%s"):format(h - 1, i - 1, row[1] and "x" or ".",
        row[2] and "x" or ".", row[3] and "x" or ".") or nil
    end
  end
  lu.assertEquals(words, { "head 6, query 0: x.x", "head 6, query 1: .x.", "head 7, query 0: xxx",
    "head 7, query 1: xxx" })
end

-- A spec sets the facet for all attentions, and another value for cross-attention. The encoder does not inherit this
-- facet.
function TestFacetModules.test_families_inherit_a_facet_as_declared()
  local plan = make_plan("spacing = { kind = 'even', heads = 2 }, cross = { spacing = { kind = 'even', heads = 1 } }",
    "encoder_decoder")
  local heads = {}
  for _, family in ipairs(plan.attentions) do
    heads[family.name] = family.spacing.heads or 0
  end
  lu.assertEquals(heads, { encoder = 0, decoder = 2, cross = 1 })
end

-- The plan refuses terms that exclude one another, since the module of a facet does not know all other facets.
function TestFacetModules.test_terms_that_exclude_one_another_are_refused()
  local even, gate = "spacing = { kind = 'even', heads = 2 }", "gate = { kind = 'distance' }"
  local geometric = ", rotation = { kind = 'none' }, normaliser = { kind = 'geometric' }"
  for _, case in ipairs({ { even .. geometric, "attention self visits keys outwards from the query" },
    { gate .. ", normaliser = { kind = 'geometric', directional = false }", "visits keys outwards from the query" },
    { gate .. geometric, "two parts of attention self request values: direction and gate" },
    { even .. ", mask = { kind = 'antidiagonal', width = 1 }", "lets a query that would see no key see all keys" },
    { gate, "attention self reads gate, which is not cached for decoded tokens", "decoder" } }) do
    local resolved, _, d = support.check_text(SPEC:format(case[3] or "encoder", case[1]))
    assert(resolved, d:text())
    local plan, problem = plans.build(resolved)
    lu.assertNil(plan, case[1])
    lu.assertStrContains(problem.what, case[2])
  end
end

function TestFacetModules.test_a_network_makes_values_that_a_facet_requests()
  local plan = make_plan("gate = { kind = 'distance' }")
  local names = {}
  for _, tensor in ipairs(plan.tensors) do
    names[tensor.name] = table.concat(tensor.shape, " ")
  end
  lu.assertEquals(names["layers.4.attention.gate.weight"], "64 8")
  local value = plan.first_family.requested_value
  lu.assertEquals({ value.width, value.constant }, { 16, "GATE_WIDTH" })
  lu.assertEquals(plan.parameters, make_plan("").parameters + 5 * 64 * 8)
end

function TestFacetModules.test_a_facet_is_exported_once_for_equal_attentions()
  local text = exports.render_spec(SPEC:format("decoder", "spacing = { kind = 'even', heads = 2 }"):gsub("^return ",
    ""))
  lu.assertStrContains(text, "def odd(score):\n")
  lu.assertStrContains(text, "    return torch.arange(queries, device=score.device)[:, None]")
  lu.assertStrContains(text, "-math.inf)\n        score = score.masked_fill(odd(score), -math.inf)\n")
  local plain_text = exports.render_spec(SPEC:format("encoder", ""):gsub("^return ", ""))
  lu.assertNotStrContains(plain_text, "indices")
end

support.run()
