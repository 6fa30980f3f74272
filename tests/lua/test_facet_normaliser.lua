-- The facet of the normaliser: softmax, geometric with its directions, or stick-breaking with its rules.

local support = dofile("tests/lua/support.lua")

local lists = require("base.lists")
local lu = require("luaunit")
local normaliser = require("facets.normaliser")
local plans = require("plans")
local project = require("project").new(".")

TestNormaliser = {}

function TestNormaliser.test_softmax_is_the_default()
  lu.assertEquals(normaliser.plan({}, { heads = 8 }), { kind = "softmax", temperature = 1 })
  lu.assertEquals(normaliser.plan({ normaliser = { kind = "softmax", temperature = 0.01 } }, {}).temperature, 0.01)
end

function TestNormaliser.test_learned_numbers_fill_whole_vectors()
  local plan = normaliser.plan({ normaliser = { kind = "geometric", normalised = true, directional = true } },
    { heads = 8 })
  lu.assertEquals(plan.padding, 13)
  for heads, width in pairs({ [1] = 16, [8] = 16, [9] = 32, [64] = 128 }) do
    local planned = plans.make_plan({ encoding = "{ kind = 'geometric' }", ["model.heads"] = tostring(heads),
      ["model.width"] = tostring(16 * heads) })
    lu.assertEquals(planned.first_family.requested_value.width, width, heads)
  end
  local unnormalised = normaliser.plan({ normaliser = { kind = "geometric", normalised = false, directional = false } },
    { heads = 8 })
  lu.assertEquals({ unnormalised.padding, unnormalised.normalised }, { 14, false })
end

local SPEC = [[return { task = { kind = "duplicate_string" }, encoding = { %s },
  model = { kind = "%s", heads = 2, width = 16, feedforward = 32%s }, train = { use = "quick" } }]]

local function make_plan(facets, kind, more_fields)
  return project:plan(support.write("sticks.lua", SPEC:format(facets, kind or "decoder", more_fields or "")))
end

function TestNormaliser.test_stick_breaking_is_for_the_decoder_alone()
  local spec = assert(make_plan("use = 'stick_breaking', normaliser = { rest = 'own_value' }", "encoder_decoder"))
  lu.assertEquals(lists.map(spec.plan.attentions, function(family) return family.normaliser.kind end),
    { "softmax", "stick_breaking", "softmax" })
  local plan = spec.plan.attentions[2].normaliser
  lu.assertEquals({ plan.own_key, plan.own_value }, { false, true })
  lu.assertFalse(spec.plan.no_device_code)
end

function TestNormaliser.test_stick_breaking_refuses_what_changes_or_hides_scores()
  local function assert_refused(words, facets, kind, more_fields)
    local spec, message = make_plan(facets, kind, more_fields)
    lu.assertNil(spec, facets)
    lu.assertStrContains(message, words)
  end
  local mask_message = "encoding.mask.kind: stick-breaking attention visits all keys before the query"
  assert_refused(mask_message, "normaliser = { kind = 'stick_breaking' }", "encoder")
  assert_refused(mask_message, "use = 'stick_breaking', mask = { kind = 'window', left = 2 }")
  assert_refused("encoding.score: a score cannot be used", "use = 'stick_breaking', score = { use = 'alibi' }")
  assert_refused("encoding.relative.kind: a vector of distances",
    "use = 'stick_breaking', relative = { kind = 'shaw' }")
  assert_refused("encoding.lines: a table of lines",
    "use = 'stick_breaking', lines = { { head = 0, direction = 1, line = 0, value = 1 } }")
  assert_refused("model.attention_dropout: stick-breaking attention cannot be used with dropout of weights",
    "use = 'stick_breaking'", "decoder", ", attention_dropout = 0.1")
  assert_refused("encoding.cross.normaliser.kind: stick-breaking attention needs keys of the query's own sequence",
    "cross = { normaliser = { kind = 'stick_breaking' } }", "encoder_decoder")
  lu.assertNotNil(make_plan("use = 'stick_breaking', rotation = { kind = 'rope' }, additive = { kind = 'sinusoid' }"))
  lu.assertNotNil(make_plan("use = 'stick_breaking'", "encoder"))
end

support.run()
