-- Facets that a spec gives for all attentions of an encoder-decoder: which attention families inherit them. The
-- resolved spec of a run gives the same encodings again.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local paths = require("base.paths")
local plan_page = require("lab.pages.plan_page")
local project = require("project").new(".")
local tasks = project:read_task_facts(require("base.diagnostics").new()) -- read once for all specs
function project.read_task_facts()
  return tasks
end
local spec_writer = require("lab.study.read.spec_writer")

TestInherit = {}

local SPEC = [[return { task = { kind = "bucket_sort" }, encoding = %s,
  model = { kind = "encoder_decoder", encoder_layers = %d, decoder_layers = 1, heads = 2, width = 16,
    feedforward = 32 }, train = { use = "quick" } }]]

-- Returns the plan, and the warnings about the spec as one text.
local function make_plan(encoding, encoder_layers)
  local spec, message = project:plan(support.write("inherit.lua", SPEC:format(encoding, encoder_layers or 1)))
  lu.assertTrue(spec ~= nil, message)
  return spec.plan, table.concat(spec.warnings, "\n")
end

-- Returns a table: by name of a family, its kinds of mask, relative vectors, rotation and score as one text.
local function list_facets(plan)
  local list = {}
  for _, family in ipairs(plan.attentions) do
    list[family.name] = table.concat({ family.mask.kind, family.relative.kind, family.rotation.kind,
      family.score.formula and "score" or "none" }, " ")
  end
  return list
end

-- Compares the texts of list_facets for an encoding.
local function check_kinds(encoding, encoder, decoder, cross)
  lu.assertEquals(list_facets(make_plan(encoding)), { encoder = encoder, decoder = decoder, cross = cross }, encoding)
end

function TestInherit.test_a_mask_of_one_side_is_the_decoder_s()
  check_kinds("{ mask = { kind = 'causal' } }", "none none none none", "causal none none none", "none none none none")
  check_kinds("{ mask = { kind = 'window', left = 2 } }", "none none none none", "window none none none",
    "none none none none")
  check_kinds("{ mask = { kind = 'window', left = 2 }, encoder = { mask = { right = 1 } }, "
    .. "cross = { mask = { left = 3 } } }",
    "window none none none", "window none none none", "window none none none")
end

function TestInherit.test_cross_attention_does_not_inherit_scores_by_distance()
  check_kinds("{ kind = 'alibi' }", "none none none score", "causal none none score", "none none none none")
  check_kinds("{ kind = 'pair_table' }", "none none none score", "causal none none score", "none none none none")
  check_kinds("{ kind = 'relative' }", "none transformer_xl none none", "causal transformer_xl none none",
    "none none none none")
  check_kinds("{ kind = 'rope', score = { use = 'log_length' } }", "none none rope score", "causal none rope score",
    "none none rope score")
  check_kinds("{ kind = 'alibi', cross = { use = 'alibi' } }", "none none none score", "causal none none score",
    "none none none score")
  check_kinds("{ kind = 'alibi_learned', cross = { parameters = { slope = { per = 'layer' , init = 1 } } } }",
    "none none none score", "causal none none score", "none none none score")
  check_kinds("{ kind = 'relative', cross = { relative = { kind = 'transformer_xl' } } }",
    "none transformer_xl none none",
    "causal transformer_xl none none", "none transformer_xl none none")
  local lines = make_plan("{ lines = { { head = 0, direction = 1, line = 0, value = 1 } } }")
  lu.assertEquals({ lines.attentions[1].mask.kind, lines.attentions[3].mask.kind }, { "lines", "none" })
end

-- A score that is an error only in cross-attention is refused only if encoding.cross has this score.
function TestInherit.test_a_score_that_cross_attention_does_not_inherit_is_not_checked_there()
  local score = "score = function(x) return x.score + x.distance / (x.key_length - x.query_length + 1) end"
  check_kinds(("{ %s }"):format(score), "none none none score", "causal none none score", "none none none none")
  local spec, message = project:plan(support.write("inherit.lua", SPEC:format(("{ cross = { %s } }"):format(score), 1)))
  lu.assertNil(spec)
  lu.assertStrContains(message, "encoding.cross.score")
end

function TestInherit.test_a_preset_declares_its_kind_of_model()
  for _, preset in ipairs({ "alibi_causal", "fire_causal" }) do
    check_kinds(("{ kind = '%s', rotation = { kind = 'rope' } }"):format(preset), "none none rope score",
      "causal none rope score", "none none rope none")
    check_kinds(("{ kind = '%s', encoder = { use = '%s' } }"):format(preset, preset), "causal none none score",
      "causal none none score", "none none none none")
    local attentions = make_plan(("{ kind = '%s' }"):format(preset)).attentions
    local expected = make_plan(("{ kind = '%s' }"):format(preset:match("^[^_]*"))).attentions
    lu.assertEquals(attentions[1].score.formula, expected[1].score.formula)
    lu.assertNotEquals(attentions[2].score.formula, expected[2].score.formula)
  end
  check_kinds("{ kind = 'lst_relative' }", "none none none none", "causal shaw none none", "none none none none")
  local geometric = make_plan("{ kind = 'geometric' }")
  lu.assertEquals({ geometric.attentions[1].normaliser.kind, geometric.attentions[2].normaliser.kind,
    geometric.attentions[3].normaliser.kind }, { "geometric", "softmax", "softmax" })
  check_kinds("{ made_for = 'decoder', score = function(x) return x.score + x.distance end }", "none none none none",
    "causal none none score", "none none none none")
end

local function plan_with_sets(encoding, sets)
  return (assert(project:plan(support.write("inherit.lua", SPEC:format(encoding, 1)), sets)))
end

-- The made_for of a preset also applies to an encoding that uses the preset, even with changed fields.
function TestInherit.test_made_for_applies_to_used_presets()
  for _, spec in ipairs({ plan_with_sets("{ kind = 'shaw' }", { "encoding.made_for=encoder" }),
    plan_with_sets("{ kind = 'shaw', made_for = 'encoder' }"),
    plan_with_sets("{ relative = { kind = 'shaw' } }", { "encoding.made_for=encoder" }) }) do
    lu.assertEquals(list_facets(spec.plan), { encoder = "none shaw none none", decoder = "causal none none none",
      cross = "none none none none" })
  end
  for _, spec in ipairs({ plan_with_sets("{ kind = 'lst_relative' }", { "encoding.relative.clip=3",
    "encoding.rotation={ kind = 'rope' }" }),
    plan_with_sets("{ kind = 'lst_relative', relative = { clip = 3 }, rotation = { kind = 'rope' } }") }) do
    lu.assertEquals(list_facets(spec.plan), { encoder = "none none rope none", decoder = "causal shaw rope none",
      cross = "none none rope none" })
    lu.assertEquals(spec.plan.resolved.encoding.relative.clip, 3)
  end
  lu.assertEquals(assert(project:plan("even_pairs_none", { "encoding.made_for=decoder" })).warnings,
    { 'encoding.made_for: "decoder" has no effect: the model has only one kind of attention' })
end

-- The only attention of a model inherits all facets.
function TestInherit.test_an_encoder_may_use_presets_for_decoders()
  local spec = assert(project:plan("even_pairs_none", { "encoding={ use = 'alibi_causal' }" }))
  lu.assertEquals({ spec.plan.first_family.mask.kind, spec.plan.first_family.score.kind }, { "causal", "expression" })
end

-- A facet for all families and the same facet in each family give the same plan.
function TestInherit.test_digests_depend_on_meaning_not_spelling()
  lu.assertEquals(make_plan("{ kind = 'alibi' }").digest,
    make_plan("{ kind = 'alibi', cross = { score = { kind = 'none' } } }").digest)
  local full = "{ mask = { kind = 'full' } }"
  lu.assertEquals(make_plan("{ mask = { kind = 'causal' } }").digest,
    make_plan(("{ mask = { kind = 'causal' }, encoder = %s, cross = %s }"):format(full, full)).digest)
  local plan = make_plan("{ kind = 'alibi', cross = { use = 'alibi' } }")
  lu.assertNil(plan.resolved.encoding.cross)
  lu.assertNotEquals(plan.digest, make_plan("{ kind = 'alibi' }").digest)
end

-- The resolved spec of a run has facets for all families, and gives the same plan.
function TestInherit.test_a_run_s_spec_keeps_its_meaning()
  for _, encoding in ipairs({ "{ kind = 'alibi_learned', cross = { use = 'alibi_learned' } }",
    "{ kind = 'alibi_causal', encoder = { use = 'alibi_causal' }, cross = { use = 'alibi_causal' } }",
    "{ kind = 'relative', cross = { use = 'relative' } }", "{ kind = 'alibi_causal' }", "{ kind = 'fire' }",
    "{ kind = 'shaw', score = { use = 'alibi' } }", "{ kind = 'geometric' }",
    "{ lines = { list = { { head = 0, direction = 1, line = 0, value = 1 } } },"
      .. " cross = { lines = { columns = 'left' } } }",
    "{ kind = 'shaw', cross = { relative = { clip = 3 } }, score = { use = 'alibi' } }", "{ kind = 'lst_relative' }",
    "{ kind = 'log_length', decoder = { relative = { kind = 'none' } } }" }) do
    for _, layers in ipairs({ 0, 1 }) do
      if layers > 0 or not encoding:find("encoder") and not encoding:find("geometric") then
        local plan = make_plan(encoding, layers)
        local again = assert(project:plan(support.write("again.lua", assert(spec_writer.write_spec(plan.resolved)))))
        lu.assertEquals(again.plan.digest, plan.digest, encoding)
      end
    end
  end
end

-- Checks that a resolved spec, written as a spec, resolves to itself; returns false for an invalid spec.
local function check_written_spec(encoding, model)
  local spec = project:resolve(support.write("inherit.lua", [[return { task = { kind = "bucket_sort" }, encoding = ]]
    .. encoding .. ", model = { heads = 2, width = 16, feedforward = 32, " .. model
    .. " }, train = { use = 'quick' } }"))
  if spec then
    local again, message = project:resolve(support.write("inherit.lua", assert(spec_writer.write_spec(spec.resolved))))
    lu.assertTrue(again ~= nil, message)
    lu.assertEquals(again.resolved, spec.resolved, encoding .. " " .. model)
  end
  return spec ~= nil
end

local ENCODER_DECODERS = { "kind = 'encoder_decoder', encoder_layers = 1, decoder_layers = 1",
  "kind = 'encoder_decoder', encoder_layers = 0, decoder_layers = 1" }

-- Preset -> how many of the four models below it fits; presets without an entry fit all four.
local MODEL_COUNTS = { abc_b = 2, abc_c = 2, abc_d = 2, coupling = 0, geometric = 3, local_global_cycle = 0, lst_2d = 0,
  lst_2d_clean = 0, lst_learned = 0, lst_random = 0, rope_nope_cycle = 0 }

function TestInherit.test_every_encoding_is_read_again_from_a_run_s_spec()
  for _, name in ipairs(paths.list_base_names("spec/encodings", ".lua")) do
    local count = 0
    for _, model in ipairs({ "kind = 'encoder', layers = 1", "kind = 'decoder', layers = 1", ENCODER_DECODERS[1],
      ENCODER_DECODERS[2] }) do
      count = count + (check_written_spec(("{ kind = '%s' }"):format(name), model) and 1 or 0)
    end
    lu.assertEquals(count, MODEL_COUNTS[name] or 4, name)
    check_written_spec(("{ kind = '%s', decoder = { relative = { kind = 'none' } } }"):format(name),
      ENCODER_DECODERS[2])
  end
end

function TestInherit.test_encodings_by_layer_are_read_back()
  for _, encoding in ipairs({ "{ layers = { 'rope', { use = 'alibi', times = 2 } } }",
    "{ layers = { {}, 'shaw', 't5' } }",
    "{ kind = 'alibi', layers = { 'rope', { score = { kind = 'none' } }, { mask = { kind = 'causal' } } } }" }) do
    lu.assertTrue(check_written_spec(encoding, "kind = 'encoder', layers = 3"), encoding)
    lu.assertTrue(check_written_spec(encoding, "kind = 'decoder', layers = 6"), encoding)
  end
end

function TestInherit.test_facets_that_a_family_lacks_are_read_back()
  local lines = "lines = { list = { { head = 0, direction = 1, line = 0, value = 1 } }, zero_corner = 'all' }"
  for _, encoding in ipairs({ ("{ made_for = 'decoder', %s }"):format(lines),
    ("{ %s, decoder = { lines = { kind = 'none' } }, cross = { lines = { columns = 'left' } } }"):format(lines),
    ("{ %s, decoder = { lines = { list = {} } } }"):format(lines),
    "{ kind = 'lst_relative', encoder = { projections = { output = false } } }",
    "{ made_for = 'decoder', rotation = { kind = 'rope' }, normaliser = { temperature = 2 } }" }) do
    lu.assertTrue(check_written_spec(encoding, ENCODER_DECODERS[1]), encoding)
  end
end

-- Lines and projections have no kinds, but kind = 'none' switches them off, as it does for a score.
function TestInherit.test_facets_without_kinds_can_be_switched_off()
  local with_defaults, bare = make_plan("{ kind = 'lst_relative_clean' }"), make_plan(
    "{ kind = 'lst_relative_clean', projections = { kind = 'none' } }")
  lu.assertEquals(with_defaults.resolved.encoding.projections, { bias = true, init = "linear" })
  lu.assertNil(bare.resolved.encoding.projections)
  lu.assertEquals(make_plan("{ kind = 'lst_relative_clean', cross = { projections = { kind = 'none' } } }")
    .resolved.encoding.cross.projections, {})
  local _, message = project:plan(support.write("inherit.lua",
    SPEC:format("{ kind = 'lst_relative_clean', projections = { kind = 'none', bias = false } }", 1)))
  lu.assertStrContains(message, "error: encoding.projections.kind: no such field")
end

-- One value is read for several families, and an error in it is reported once.
function TestInherit.test_an_error_is_reported_once()
  local spec, message = project:plan(support.write("inherit.lua",
    SPEC:format("{ mask = { kind = 'causal' }, rotation = { kind = 'rope', base = 0.5 } }", 1)))
  lu.assertNil(spec)
  lu.assertStrContains(message, "error: encoding.rotation.base: 0.5 is not above 1")
  lu.assertStrContains(message, "1 error;")
end

function TestInherit.test_an_encoding_must_be_a_table_or_a_name()
  for _, value in ipairs({ "true", "3" }) do
    local _, message = project:plan(support.write("inherit.lua", SPEC:format(value, 1)))
    lu.assertStrContains(message, "expected: a table with rotation, ")
  end
end

function TestInherit.test_plan_has_a_line_for_each_family()
  local text = plan_page.format_page(make_plan("{ kind = 'alibi_causal' }"))
  lu.assertStrContains(text, "encoding    encoder: score = x.score + x.slope * (select(less(x.distance, 0), 0.5, 0) - "
    .. "abs(x.distance))\n            decoder: queries see themselves and the keys before them; score = x.score + "
    .. "x.slope * x.distance\n            cross: no positional encoding\n")
  lu.assertStrContains(plan_page.format_page(make_plan("{ kind = 'none' }")),
    "\n            cross: no positional encoding\n")
end

support.run()

-- Each family has facets of its own, so none uses the shared facets as a whole.
function TestInherit.test_warnings_about_inherited_positions_are_reported_once()
  local encoding = "{ positions = { kind = 'randomized', max_position = 100000, sides = 'independent' }, "
    .. "additive = { kind = 'none' }, encoder = { rotation = { kind = 'rope' } }, "
    .. "decoder = { rotation = { kind = 'rope' } }, cross = { projections = { bias = false }%s } }"
  local _, warnings = make_plan(encoding:format(""))
  lu.assertEquals(select(2, warnings:gsub("encoding%.positions%.max_position: 100000 is more than", "")), 1)
  lu.assertEquals(select(2, warnings:gsub("encoding%.positions%.sides: \"independent\" has no effect", "")), 1)
  _, warnings = make_plan(encoding:format(", relative = { kind = 'shaw' }"))
  lu.assertNotStrContains(warnings, "has no effect")
end

