-- Families of attentions: facets of all families, facets of one family, and the names in generated code with several
-- families. Two families that differ in everything, one of them with a facet from outside of the generator, are
-- compiled in one text (tests/families) and compared with simple loops.

local support = dofile("tests/lua/support.lua")
local facets = require("tests.facets.enter") -- loaded before modules that list all facets

local describe = require("plan.pages.describe")
local encoding_module = require("plan.deriving.encoding_facets")
local lu = require("luaunit")
local dimensions = require("plan.deriving.dimensions")
local plans = require("plans")
local render = require("render.templates.render")
local signatures = require("render.templates.signatures")
local terms = require("attention.terms")

TestFamilies = {}

local CC = os.getenv("CC") or "gcc"
local FLAGS = " -std=gnu11 -O1 -Wall -Wextra -Werror -Wno-psabi -Wno-unused-function -Wno-unused-parameter"
  .. " -Wno-unknown-pragmas -I. -Iinclude -Iruntime "
local LAYERS = { count = "LAYERS", parameters = "layer_parameters", member = "layer", state = "layer_state" }
local SOURCE, TARGET = { stream = 0, stream_prefix = "source." }, { stream = 1, stream_prefix = "target." }

local CROSS = { rotation = { kind = "rope", base = 500.0 }, mask = false, score = false, spacing = false }

-- Returns a plan with self-attention, and with cross-attention from the target to the source, and the plan's score.
-- cross: the facets of cross-attention.
local function derive_two(self_facets, cross)
  local plan, score = plans.plan_encoding(self_facets, nil, "float64")
  plan.resolved.encoding.cross = cross
  local width = plan.width
  local family = plan.attentions[1]
  family.queries, family.keys, family.recomputed = TARGET, TARGET, false
  family.computes_labelled_tokens, family.has_query_bounds = false, false
  plan.streams = { { name = "source", index = 0 }, { name = "target", index = 1 } }
  plan.attentions[2] = { name = "cross", spec_name = "cross", stack = LAYERS, is_decoded = true,
    caches_tiles = false,
    weight_dropout = false,
    computes_labelled_tokens = false, has_query_bounds = false, recomputed = false, queries = TARGET, keys = SOURCE,
    cross = true, causal = false,
    layers = plan.layers, heads = 4, head_width = width // 4, head_part = (width // 4) & -(width // 4) }
  dimensions.settle_families(plan.attentions)
  return plan, score
end

local function derive(plan, score)
  local facts = { task = plans.make_task(5, 5, "n"), score = score }
  for name, value in pairs(encoding_module.derive(plan, facts, plan.additive)) do
    plan[name] = value
  end
  terms.settle(plan)
  for name, value in pairs(encoding_module.derive_shared(plan)) do
    plan[name] = value
  end
  plan.comments = describe.make_comments(plan)
  return plan
end

local function read_template(name)
  return name:find("^families") and support.read("tests/families/" .. name) or facets.read_template(name)
end

function TestFamilies.test_facets_of_a_family_replace_those_of_all()
  local plan = derive(derive_two("{ rotation = { kind = 'rope', base = 100 }, mask = { kind = 'causal' } }", CROSS))
  local family, cross = plan.attentions[1], plan.attentions[2]
  lu.assertEquals({ family.rotation.base, family.mask.kind }, { 100.0, "causal" })
  lu.assertEquals({ cross.rotation.base, cross.mask.kind }, { 500.0, "none" })
  local equal_plan = derive(derive_two("{ rotation = { kind = 'rope', base = 100 } }"))
  lu.assertEquals(equal_plan.attentions[2].rotation.base, 100.0)
end

function TestFamilies.test_names_and_sites_are_per_family_if_there_are_several_families()
  local family = plans.plan_encoding("{ rotation = { kind = 'rope' } }").attentions[1]
  lu.assertEquals({ family.prefix, family.PREFIX, family.first_site }, { "", "", 0 })
  local plan = derive_two("{}")
  lu.assertEquals(plan.attentions[1].PREFIX, "SELF_")
  lu.assertEquals({ plan.attentions[2].prefix, plan.attentions[2].first_site }, { "cross_", plan.layers + 1 })
end

-- Facets that are defined within one sequence are refused if queries and keys are of two sequences; the message names
-- the field.
function TestFamilies.test_facets_of_one_sequence_are_refused()
  for field, cross in pairs({
    normaliser = { normaliser = { kind = "geometric", normalised = true, directional = false } },
    ["positions.reading"] = { positions = { kind = "randomized", max_position = 100, sorted = true, draw = "pass",
      reading = "drawn" }, relative = { kind = "shaw", clip = 4 } },
  }) do
    local is_ok, problem = pcall(derive, derive_two("{}", cross))
    lu.assertFalse(is_ok, field)
    lu.assertEquals(problem.field, "encoding.cross." .. field)
    lu.assertStrContains(problem.what, "one sequence, but queries and keys of this attention are from two")
  end
end

function TestFamilies.test_parameters_of_one_name_have_their_own_initial_values()
  local resolved, info, d = support.check_text([[
    local function score(x) return x.score + x.slope * x.distance end
    return { task = { kind = "reverse_string" },
      model = { kind = "encoder_decoder", encoder_layers = 2, decoder_layers = 1, heads = 2, width = 16 },
      encoding = { encoder = { score = score, parameters = { slope = { per = "layer_head", init = { 1, 2 } } } },
        decoder = { score = score, parameters = { slope = { per = "head", init = { 3, 4 } } } } } }]])
  assert(resolved, d:text())
  local plan, values = plans.build(resolved, info.task, nil, info.score), {}
  for _, tensor in ipairs(plan.tensors) do
    values[#values + 1] = tensor.init == "LH_INIT_VALUES" and tensor.name .. " " .. tensor.value or nil
  end
  lu.assertEquals(values, { "encoder.layers.0.attention.score.slope 0", "encoder.layers.1.attention.score.slope 0",
    "decoder.score.slope 2" })
  lu.assertEquals(plan.initial_values, "1.0, 2.0, 3.0, 4.0")
end

local function write_rendered(name, path, plan, family, known_signatures)
  local text, problem = render.render(name, plan, read_template, nil, family, known_signatures)
  assert(text, not text and ("%s:%d: %s"):format(problem.path, problem.line, problem.what))
  return support.write("families/" .. path, text)
end

-- In generated code, random distances have the name of their family wherever the family's score reads them.
function TestFamilies.test_one_family_may_draw_distances()
  local sampled_positions = "{ use = 'alibi', positions = { kind = 'randomized', max_position = 1000 } }"
  local plan = derive(derive_two(sampled_positions, { score = false }))
  lu.assertEquals(plan.attentions[2].positions.kind, "index")
  local text = render.render("attention/cpu/scalar.inc.tpl", plan, read_template, nil, plan.attentions[1])
  lu.assertStrContains(text, "static vector self_distances_from(const int32_t *drawn, int o, int T) {")
  lu.assertStrContains(text, "const int32_t *drawn = ((const shared *)step->shared)->self_distance[l];")
  lu.assertStrContains(text, "self_drawn_distance(drawn, ")
end

-- The tables of positions have a row for every position that any family needs.
function TestFamilies.test_tables_of_positions_are_those_of_all_families()
  local rotation_facets = { rotation = { kind = "rope", base = 500.0 }, positions = { kind = "index" }, score = false }
  local sampled_positions = "{ positions = { kind = 'randomized', max_position = 1000 }, use = 'alibi' }"
  local plan = derive(derive_two(sampled_positions, rotation_facets))
  lu.assertTrue(plan.tables)
  local text = render.render("parts/position_tables.tpl", plan, read_template, nil, plan.attentions[1])
  lu.assertStrContains(text, "    rows = rows > SELF_MAX_POSITION ? rows : SELF_MAX_POSITION;\n    return rows;\n")
  lu.assertStrContains(text, "make_cross_rotation(position, row[position].cross_rotation);")
end

-- Compiles and runs families.c. more_fields: text of further facets of the first family; even_heads: how many heads of
-- this family see only even offsets.
local function compare_with_plain_loops(more_fields, even_heads)
  local self_facets = "{ use = 'alibi', rotation = { kind = 'rope', base = 100 }, mask = { kind = 'causal' }, %s }"
  local plan = derive(derive_two(self_facets:format(more_fields), CROSS))
  plan.even_heads = even_heads
  local known_signatures = signatures.new()
  write_rendered("common/config.h.tpl", "config.h", plan, plan.attentions[1])
  write_rendered("common/tuned.h.tpl", "tuned.h", plan, plan.attentions[1])
  write_rendered("attention/cpu/scalar.inc.tpl", "score_self.inc", plan, plan.attentions[1], known_signatures)
  for _, family in ipairs(plan.attentions) do
    write_rendered("attention/cpu/attention.inc.tpl", ("attention_%s.inc"):format(family.name), plan, family,
      known_signatures)
  end
  local main_path = write_rendered("families.c.tpl", "families.c", plan, plan.attentions[1], known_signatures)
  local program = main_path:gsub("%.c$", "")
  local text, is_ok = support.shell(("%s %s -march=native -I%s -o %s %s runtime/base/math.c runtime/base/timings.c "
    .. "runtime/base/clock.c -lm && %s"):format(CC, FLAGS, main_path:match("^(.*)/"), program, main_path, program))
  lu.assertTrue(is_ok, text)
end

function TestFamilies.test_two_families_in_one_text_match_plain_loops()
  compare_with_plain_loops("", 0)
end

function TestFamilies.test_half_of_the_heads_may_see_even_offsets_alone()
  compare_with_plain_loops("spacing = { kind = 'even', heads = 1 }", 1)
end

support.run()
