-- Facets that a spec gives for all attentions of an encoder-decoder: which of them each takes, what a family asks for
-- in its own table, and what becomes of runs of before.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local plan_page = require("plan.plan_page")
local project = require("project").new(".")
local respec = require("study.read.respec")

TestInherit = {}

local SPEC = [[return { task = { kind = "bucket_sort" }, encoding = %s,
  model = { kind = "encoder_decoder", encoder_layers = %d, decoder_layers = 1, heads = 2, width = 16,
    feedforward = 32 }, train = { use = "quick" } }]]

local function plan_of(encoding, encoder_layers)
  local spec, message = project:plan(support.write("inherit.lua", SPEC:format(encoding, encoder_layers or 1)))
  lu.assertTrue(spec ~= nil, message)
  return spec.plan
end

-- Per family: kinds of what it has.
local function facets(plan)
  local list = {}
  for _, family in ipairs(plan.attentions) do
    list[family.name] = table.concat({ family.mask.kind, family.relative.kind, family.rotation.kind,
      family.score.formula and "score" or "none" }, " ")
  end
  return list
end

local function check(encoding, encoder, decoder, cross)
  lu.assertEquals(facets(plan_of(encoding)), { encoder = encoder, decoder = decoder, cross = cross }, encoding)
end

function TestInherit.test_a_mask_of_one_side_is_the_decoder_s()
  check("{ mask = { kind = 'causal' } }", "none none none none", "causal none none none", "none none none none")
  check("{ mask = { kind = 'window', left = 2 } }", "none none none none", "window none none none",
    "none none none none")
  check("{ mask = { kind = 'window', left = 2 }, encoder = { mask = { right = 1 } }, cross = { mask = { left = 3 } } }",
    "window none none none", "window none none none", "window none none none")
end

function TestInherit.test_what_goes_by_places_is_not_cross_attention_s()
  check("{ kind = 'alibi' }", "none none none score", "causal none none score", "none none none none")
  check("{ kind = 'pair_table' }", "none none none score", "causal none none score", "none none none none")
  check("{ kind = 'relative' }", "none transformer_xl none none", "causal transformer_xl none none",
    "none none none none")
  check("{ kind = 'rope', score = { use = 'log_length' } }", "none none rope score", "causal none rope score",
    "none none rope score")
  check("{ kind = 'alibi', cross = { use = 'alibi' } }", "none none none score", "causal none none score",
    "none none none score")
  check("{ kind = 'alibi_learned', cross = { parameters = { slope = { per = 'layer' , init = 1 } } } }",
    "none none none score", "causal none none score", "none none none score")
  check("{ kind = 'relative', cross = { relative = { kind = 'transformer_xl' } } }", "none transformer_xl none none",
    "causal transformer_xl none none", "none transformer_xl none none")
  local lines = plan_of("{ lines = { { head = 0, direction = 1, line = 0, value = 1 } } }")
  lu.assertEquals({ lines.attentions[1].mask.kind, lines.attentions[3].mask.kind }, { "lines", "none" })
end

-- What is wrong with a score in cross-attention alone is told where cross-attention asks for it.
function TestInherit.test_a_score_that_cross_attention_does_not_take_is_not_checked_there()
  local score = "score = function(x) return x.score + x.distance / (x.key_length - x.query_length + 1) end"
  check(("{ %s }"):format(score), "none none none score", "causal none none score", "none none none none")
  local spec, message = project:plan(support.write("inherit.lua", SPEC:format(("{ cross = { %s } }"):format(score), 1)))
  lu.assertNil(spec)
  lu.assertStrContains(message, "encoding.cross.score")
end

function TestInherit.test_a_preset_says_what_it_is_made_for()
  for _, preset in ipairs({ "alibi_causal", "fire_causal" }) do
    check(("{ kind = '%s', rotation = { kind = 'rope' } }"):format(preset), "none none rope score",
      "causal none rope score", "none none rope none")
    check(("{ kind = '%s', encoder = { use = '%s' } }"):format(preset, preset), "causal none none score",
      "causal none none score", "none none none none")
    local both = plan_of(("{ kind = '%s' }"):format(preset)).attentions
    local wanted = plan_of(("{ kind = '%s' }"):format(preset:match("^[^_]*"))).attentions
    lu.assertEquals(both[1].score.formula, wanted[1].score.formula)
    lu.assertNotEquals(both[2].score.formula, wanted[2].score.formula)
  end
  check("{ kind = 'lst_relative' }", "none none none none", "causal shaw none none", "none none none none")
  local geometric = plan_of("{ kind = 'geometric' }")
  lu.assertEquals({ geometric.attentions[1].normaliser.kind, geometric.attentions[2].normaliser.kind,
    geometric.attentions[3].normaliser.kind }, { "geometric", "softmax", "softmax" })
  check("{ made_for = 'decoder', score = function(x) return x.score + x.distance end }", "none none none none",
    "causal none none score", "none none none none")
end

-- A model of one attention has all of it.
function TestInherit.test_an_encoder_has_what_is_made_for_a_decoder()
  local spec = assert(project:plan("even_pairs_none", { "encoding={ use = 'alibi_causal' }" }))
  lu.assertEquals({ spec.plan.first.mask.kind, spec.plan.first.score.kind }, { "causal", "expression" })
end

-- Written or not, it is the same model; and what held for all families before is there where all ask for it.
function TestInherit.test_digests_are_those_of_the_meaning()
  lu.assertEquals(plan_of("{ kind = 'alibi' }").digest,
    plan_of("{ kind = 'alibi', cross = { score = { kind = 'none' } } }").digest)
  local full = "{ mask = { kind = 'full' } }"
  lu.assertEquals(plan_of("{ mask = { kind = 'causal' } }").digest,
    plan_of(("{ mask = { kind = 'causal' }, encoder = %s, cross = %s }"):format(full, full)).digest)
  local all = plan_of("{ kind = 'alibi', cross = { use = 'alibi' } }")
  lu.assertNil(all.resolved.encoding.cross)
  lu.assertNotEquals(all.digest, plan_of("{ kind = 'alibi' }").digest)
end

-- The resolved spec of a run says what holds for all families, as it always did: it is planned as it was.
function TestInherit.test_a_run_s_spec_means_what_it_meant()
  for _, encoding in ipairs({ "{ kind = 'alibi_learned', cross = { use = 'alibi_learned' } }",
    "{ kind = 'alibi_causal', encoder = { use = 'alibi_causal' }, cross = { use = 'alibi_causal' } }",
    "{ kind = 'relative', cross = { use = 'relative' } }", "{ kind = 'alibi_causal' }", "{ kind = 'fire' }",
    "{ kind = 'shaw', score = { use = 'alibi' } }", "{ kind = 'geometric' }",
    "{ lines = { list = { { head = 0, direction = 1, line = 0, value = 1 } } },"
      .. " cross = { lines = { columns = 'left' } } }",
    "{ kind = 'shaw', cross = { relative = { clip = 3 } }, score = { use = 'alibi' } }" }) do
    for _, layers in ipairs({ 0, 1 }) do
      if layers > 0 or not encoding:find("encoder") and not encoding:find("geometric") then
        local plan = plan_of(encoding, layers)
        local again = assert(project:plan(support.write("again.lua", assert(respec.text(plan.resolved)))))
        lu.assertEquals(again.plan.digest, plan.digest, encoding)
      end
    end
  end
end

-- One value is read for several families, and what is wrong with it is told once.
function TestInherit.test_a_mistake_is_told_once()
  local spec, message = project:plan(support.write("inherit.lua",
    SPEC:format("{ mask = { kind = 'causal' }, rotation = { kind = 'rope', base = 0.5 } }", 1)))
  lu.assertNil(spec)
  lu.assertStrContains(message, "error: encoding.rotation.base: 0.5 is not above 1")
  lu.assertStrContains(message, "1 error;")
end

function TestInherit.test_an_encoding_that_is_no_table_is_a_mistake()
  for _, value in ipairs({ "'alibi'", "3" }) do
    local _, message = project:plan(support.write("inherit.lua", SPEC:format(value, 1)))
    lu.assertStrContains(message, "expected: a table with rotation, ")
  end
end

function TestInherit.test_plan_has_a_line_for_each_family()
  local text = plan_page.text(plan_of("{ kind = 'alibi_causal' }"))
  lu.assertStrContains(text, "encoding    encoder: score = x.score + x.slope * (select(less(x.distance, 0), 0.5, 0) - "
    .. "abs(x.distance))\n            decoder: queries see themselves and the keys before them; score = x.score + "
    .. "x.slope * x.distance\n            cross: no positional encoding\n")
  lu.assertStrContains(plan_page.text(plan_of("{ kind = 'none' }")), "\n            cross: no positional encoding\n")
end

support.run()
