-- The facet of vectors of distances: the plan data of all kinds, and the rules of cope, which counts keys.

local support = dofile("tests/lua/support.lua")

local encodings = require("encodings")
local lists = require("base.lists")
local lu = require("luaunit")
local positions = require("facets.positions")
local project = require("project").new(".")
local relative = require("facets.relative")

local INDICES = encodings.INDICES
local make_encoding, make_relative_encoding = encodings.make_encoding, encodings.make_relative_encoding

TestRelative = {}

function TestRelative.test_both_kinds_have_their_rows_and_vectors()
  local function plan_relative(kind, reading)
    local spec = make_relative_encoding("none", "none", "layer", reading, kind)
    return relative.plan(spec, encodings.make_family(positions.plan(spec, encodings.BARE, {})), { width = 16 })
  end
  local xl = plan_relative("transformer_xl", "drawn")
  lu.assertEquals({ xl.toeplitz, xl.biases, xl.has_step_tables, xl.width, xl.vectors_per_query },
    { true, true, true, 16, 3 })
  local shaw = plan_relative("shaw", "drawn")
  lu.assertEquals({ shaw.toeplitz, shaw.biases, shaw.has_step_tables, shaw.width, shaw.vectors_per_query },
    { true, false, true, 8, 2 })
  lu.assertEquals({ shaw.clip, shaw.rows, shaw.padded_elements }, { 4, 9, 80 }) -- 72 elements in vectors of 16
  lu.assertAlmostEquals(shaw.init_sigma, math.sqrt(2 / 17), 1e-15)
  local rotated = plan_relative("transformer_xl", "difference")
  lu.assertEquals({ rotated.toeplitz, rotated.rotated, rotated.has_step_tables, xl.rotated },
    { false, true, true, false })
  lu.assertFalse(plan_relative("shaw", "difference").rotated)
  lu.assertFalse(plan_relative("shaw", "difference").has_step_tables)
  lu.assertEquals(relative.plan(make_encoding("none", "none", "index"), encodings.make_family(INDICES), {}).kind,
    "none")
end

function TestRelative.test_a_table_of_keys_before_the_query_has_rows_of_one_side()
  local spec = make_relative_encoding("none", "none", "layer", "index", "shaw")
  spec.relative.sides, spec.relative.init_sigma = "left", 1.0
  local plan = relative.plan(spec, encodings.make_family(positions.plan(spec, encodings.BARE, {})), { width = 16 })
  lu.assertEquals({ plan.rows, plan.rows_text, plan.farthest, plan.init_sigma }, { 5, "CLIP + 1", "0", 1.0 })
end

function TestRelative.test_cope_has_a_table_for_all_heads()
  local function plan_cope(divided)
    local spec = { relative = { kind = "cope", rows = 5, divided = divided } }
    return relative.plan(spec, encodings.make_family(positions.plan(make_encoding("none", "none", "index"),
      encodings.BARE, {})), { width = 16 })
  end
  local plan = plan_cope(true)
  lu.assertEquals({ plan.rows, plan.width, plan.padded_elements, plan.factor, plan.has_step_tables },
    { 5, 8, 48, false, false })
  lu.assertEquals(plan_cope(false).factor, math.sqrt(8))
end

local SPEC = [[return { task = { kind = "duplicate_string" }, encoding = { %s },
  model = { kind = "%s", heads = 2, width = 16, feedforward = 32 }, train = { use = "quick" } }]]

local function make_plan(facets, kind)
  return project:plan(support.write("counts.lua", SPEC:format(facets, kind or "decoder")))
end

function TestRelative.test_cope_is_for_the_decoder_alone()
  local spec = assert(make_plan("use = 'cope'", "encoder_decoder"))
  lu.assertEquals(lists.map(spec.plan.attentions, function(family) return family.relative.kind end),
    { "none", "cope", "none" })
  local vectors = lists.find(spec.plan.tensors, function(t) return t.name:find("relative.table", 1, true) ~= nil end)
  lu.assertEquals({ vectors.shape, vectors.init, vectors.value }, { { 64, 8 }, "LH_INIT_CONSTANT", 0 })
  lu.assertFalse(spec.plan.no_device_code)
end

function TestRelative.test_vectors_of_digits_do_not_exclude_cope()
  local facets = "use = 'abacus', relative = { kind = '%s' }"
  lu.assertNotNil(make_plan(facets:format("cope")))
  lu.assertStrContains(select(2, make_plan(facets:format("shaw"))), "a vector belongs to a distance")
end

function TestRelative.test_cope_refuses_what_changes_or_hides_logits()
  local function assert_refused(words, facets, kind)
    local spec, message = make_plan(facets, kind)
    lu.assertNil(spec, facets)
    lu.assertStrContains(message, words)
  end
  assert_refused("encoding.mask.kind: cope counts the keys from a key to its query", "relative = { kind = 'cope' }",
    "encoder")
  assert_refused("encoding.mask.kind: cope counts the keys from a key to its query",
    "use = 'cope', mask = { kind = 'window', left = 2 }")
  assert_refused("encoding.rotation.kind: a rotation would change", "use = 'cope', rotation = { kind = 'rope' }")
  assert_refused("encoding.score: a score cannot be used with cope", "use = 'cope', score = { use = 'alibi' }")
  assert_refused("encoding.lines: a table of lines",
    "use = 'cope', lines = { { head = 0, direction = 1, line = 0, value = 1 } }")
  assert_refused("encoding.normaliser.temperature: a temperature", "use = 'cope', normaliser = { temperature = 2 }")
  assert_refused("encoding.relative.kind: a vector of distances cannot be used with geometric attention",
    "use = 'cope', normaliser = { kind = 'geometric' }", "encoder")
  assert_refused("encoding.cross.relative.kind: cope counts keys of the query's own sequence",
    "cross = { relative = { kind = 'cope' } }", "encoder_decoder")
end

support.run()
