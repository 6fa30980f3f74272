-- Encodings by layer (encoding.layers): their tables in resolved specs, their layers, tensors and generated code. A
-- turn is one run through the list encoding.layers.

local support = dofile("tests/lua/support.lua")

local exports = require("exports")
local gen = require("render.templates.gen")
local lists = require("base.lists")
local lu = require("luaunit")
local project = require("project").new(".")

TestLayers = { tearDown = support.clean }

local SPEC = [[return { task = { kind = "reverse_string" }, encoding = { %s },
  model = { heads = 2, width = 16, feedforward = 32, %s } }]]

local function make_spec(encoding, model, sets)
  return project:plan(support.write("layers.lua", SPEC:format(encoding, model)), sets)
end

local function render(encoding, model)
  local spec = assert(make_spec(encoding, model))
  return support.index_texts(assert(gen.render_files(spec.plan, function(...) return project:read_template(...) end, {},
    false)))
end

local function list_names(spec, ending)
  return lists.map(spec.plan.tensors, function(tensor) return tensor.name:match("^(.*)%" .. ending .. "$") end)
end

-- Layers are numbered in the order in which they run. The plan lists the tensors of all layers of the first entry, then
-- the tensors of the second entry.
function TestLayers.test_entries_have_the_layers_of_their_turns()
  local spec = assert(make_spec('layers = { { use = "shaw", times = 2 }, "none" }', "layers = 6"))
  lu.assertEquals(list_names(spec, ".attention.relative.table"), { "layers.0", "layers.1", "layers.3", "layers.4" })
  lu.assertEquals(list_names(spec, ".norm1.scale"), { "layers.0", "layers.1", "layers.3", "layers.4", "layers.2",
    "layers.5" })
  lu.assertEquals(lists.map(spec.plan.attentions, function(family) return family.title end),
    { "layers 0 to 1 of every 3", "layer 2 of every 3" })
  lu.assertEquals(lists.map(spec.plan.trace_sites, function(site) return site.channels > 0 and site.name or nil end),
    { "embedding", "layers.0.output", "layers.1.output", "layers.2.output", "layers.3.output", "layers.4.output",
      "layers.5.output" })
end

-- In a model with loops, each pass has its own numbers of layers, even if the last turn of a pass ends before the end
-- of the list.
function TestLayers.test_layers_of_all_passes_have_different_numbers()
  local spec = assert(make_spec('layers = { "rope", "none" }', "layers = 3, loops = { times = 2 }"))
  lu.assertEquals(list_names(spec, ".norm1.scale"), { "layers.0", "layers.1", "layers.2" })
  lu.assertEquals(lists.map(spec.plan.trace_sites, function(site) return site.name:match("^(.*)%.output$") end),
    { "layers.0", "layers.1", "layers.2", "layers.3", "layers.4", "layers.5" })
  spec = assert(make_spec('layers = { "rope", "none" }', 'layers = 3, loops = { times = "length" }'))
  lu.assertEquals(lists.get_names(spec.plan.trace_sites), { "embedding", "layers.0", "layers.0.output", "layers.1",
    "layers.1.output", "layers.2", "layers.2.output" }) -- the sites of the first pass
  lu.assertEquals(spec.plan.pass_sites, 6)
end

-- The comment of a pass names the publication that describes how the first pass starts.
function TestLayers.test_the_comment_of_a_pass()
  local loops = "layers = 1, loops = { times = 2, inject = true%s }"
  for start, source in pairs({ [""] = "Fan et al. 2024", [', start = "noise"'] = "McLeish et al. 2024" }) do
    lu.assertStrContains(render("", loops:format(start))["layers.inc"],
      ("One pass of 1 post-norm encoder block: Ruoss et al. 2023, section 3; Vaswani et al. 2017; %s."):format(source))
  end
end

function TestLayers.test_layers_run_in_turn()
  local step = render('layers = { { use = "rope", times = 2 }, "none" }', "layers = 6")["step.c"]
  lu.assertStrContains(step, [[
    for (int cycle = 0; cycle < 2; cycle++) {
        for (int l = cycle * 2; l < (cycle + 1) * 2; l++)
            layer1_forward(&w, l, w.output, w.output);
        layer2_forward(&w, cycle, w.output, w.output);
    }
]])
  local text = render('layers = { "rope", "none" }', "layers = 2")["step.c"]
  lu.assertNotStrContains(text, "cycle")
  lu.assertStrContains(render('layers = { "rope", "none" }', "layers = 4, loops = { times = 3 }")["step.c"], [[
    for (int pass = 0; pass < w.passes; pass++) {
        for (int cycle = pass * 2; cycle < (pass + 1) * 2; cycle++) {
            layer1_forward(&w, cycle, w.output, w.output);
            layer2_forward(&w, cycle, w.output, w.output);
        }
    }
]])
end

function TestLayers.test_a_last_turn_may_end_before_the_end_of_the_list()
  local list = 'layers = { { use = "shaw", times = 2 }, "none" }'
  local spec = assert(make_spec(list, "layers = 7"))
  lu.assertEquals(list_names(spec, ".norm1.scale"), { "layers.0", "layers.1", "layers.3", "layers.4", "layers.2",
    "layers.5", "layers.6" })
  lu.assertEquals(lists.map(spec.plan.attentions, function(family) return family.title end),
    { "layers 0 to 1 of every 3", "layer 2 of every 3", "layer 6" })
  lu.assertStrContains(render(list, "layers = 8")["step.c"], [[
    for (int cycle = 0; cycle < 2; cycle++) {
        for (int l = cycle * 2; l < (cycle + 1) * 2; l++)
            layer1_forward(&w, l, w.output, w.output);
        layer2_forward(&w, cycle, w.output, w.output);
    }
    for (int l = 0; l < LAYER1_LAST_LAYERS; l++)
        layer1_last_forward(&w, l, w.output, w.output);
]])
  lu.assertStrContains(render(list, "layers = 4, loops = { times = 3 }")["step.c"], [[
    for (int pass = 0; pass < w.passes; pass++) {
        for (int l = pass * LAYERS1; l < (pass + 1) * LAYERS1; l++)
            layer1_forward(&w, l, w.output, w.output);
        layer2_forward(&w, pass, w.output, w.output);
        layer1_last_forward(&w, pass, w.output, w.output);
    }
]])
end

function TestLayers.test_exported_layers_run_in_turn()
  local function export(encoding, model)
    return exports.render_spec(SPEC:gsub("^return", ""):format(encoding, model))
  end
  exports.assert_has(export('layers = { { use = "shaw", times = 2 }, "none" }', "layers = 8"),
    "nn.ModuleList((Layer1, Layer1, Layer2)[layer % 3]() for layer in range(8))")
  local random = 'positions = { kind = "randomized", max_position = 2048, draw = %q }, layers = { "none", "rope" }'
  exports.assert_has(export(random:format("layer"), "layers = 5"),
    "(Layer1, Layer2)[layer % 2]() for layer in range(5)",
    "        for layer in self.layers:\n            place = draw_positions(tokens, positions)\n")
  exports.assert_has(export(random:format("pass"), "layers = 5"),
    "        place = draw_positions(tokens, positions)\n        h =")
  lu.assertErrorMsgContains("attentions with different positions: self1 and self2", export,
    random:format("layer"):gsub('"none"', '"shaw"'), "layers = 5")
end

-- With draw = "pass", all layers use the same site; with draw = "layer", each layer has a site of its own.
function TestLayers.test_random_positions()
  local function list_sites(encoding, layers, draw)
    local sites, positions = {}, 'positions = { kind = "randomized", max_position = 2048, draw = %q }'
    local step = render(encoding .. ", " .. positions:format(draw), layers)["step.c"]
    for site in step:gmatch("&step%->draw, %(uint32_t%)(d[^,]*),") do
      sites[#sites + 1] = site
    end
    return sites
  end
  local rotated_layers = 'layers = { "rope", { use = "rope", mask = { kind = "causal" } } }'
  lu.assertEquals(list_sites(rotated_layers, "layers = 4", "layer"), { "d + 1", "d + 1 + 3" })
  lu.assertEquals(list_sites('additive = { kind = "sinusoid" }, ' .. rotated_layers, "layers = 4", "layer"),
    { "d", "d + 3" })
  lu.assertEquals(list_sites(rotated_layers, "layers = 4", "pass"), { "d", "d" })
  local close_attentions = 'layers = { "shaw", { score = { use = "alibi" } } }'
  lu.assertEquals(list_sites(close_attentions, "layers = 5", "layer"), { "d + 1", "d + 1 + 3", "d + 1 + 6" })
  lu.assertEquals(list_sites(close_attentions, "layers = 5", "pass"), { "d", "d", "d" })
end

function TestLayers.test_random_positions_of_one_entry_are_refused()
  local positions = 'positions = { kind = "randomized", max_position = %d%s }'
  local entries = 'layers = { "rope", { use = "rope", ' .. positions .. " } }"
  local function find_problem(more_positions, shared_fields)
    local _, message = make_spec(entries:format(2048, more_positions) .. shared_fields, "layers = 2")
    return message
  end
  local sequence = positions:format(2048, ', draw = "sequence"')
  for _, shared_fields in ipairs({ "", ", " .. positions:format(1024, ""), ", " .. sequence }) do
    lu.assertStrContains(find_problem(', draw = "pass"', shared_fields), "random positions differ between layers",
      shared_fields)
  end
  lu.assertEquals(find_problem(', draw = "pass"', ", " .. positions:format(2048, "")), "")
end

function TestLayers.test_scores_that_a_part_of_a_turn_cannot_have_are_refused()
  local function find_problem(score, layers)
    local _, message = make_spec(('layers = { { score = %s }, "rope" }'):format(score), layers)
    return message
  end
  lu.assertStrContains(find_problem('{ use = "t5" }', "layers = 3"), "encoding.layer1.score: layers share x.")
  lu.assertStrContains(find_problem("function(x) return x.score - x.layer * abs(x.distance) end", "layers = 3"),
    "the score reads x.layer, and the last repetition of encoding.layers is incomplete")
  for _, score in ipairs({ '{ use = "t5" }, mask = { kind = "causal" }', '{ use = "alibi" }' }) do
    lu.assertEquals(find_problem(score, "layers = 4"), "")
  end
  lu.assertEquals(find_problem('{ use = "alibi" }', "layers = 3"), "")
end

-- A list replaces the list of a preset. --set with the name of an entry (layer1) replaces a single field of the entry.
function TestLayers.test_entries_are_encodings()
  local function get(encoding, sets)
    return assert(make_spec(encoding, "layers = 4", sets)).resolved.encoding
  end
  local preset = get('kind = "rope_nope_cycle"')
  lu.assertEquals({ preset.layer1.times, preset.layer1.mask.left, preset.layer1.rotation.kind }, { 3, 8, "rope" })
  lu.assertEquals(preset.layer2, {})
  lu.assertEquals(get('kind = "rope_nope_cycle"', { "encoding.layer1.mask.left=3" }).layer1.mask.left, 3)
  local new_encoding = get('kind = "rope_nope_cycle", layers = { { use = "alibi", times = 2 }, "none" , "rope" }')
  lu.assertNil(new_encoding.layer1.mask)
  lu.assertEquals({ new_encoding.layer1.times, new_encoding.layer3.rotation.kind }, { 2, "rope" })
  local shared = get('rotation = { kind = "rope" }, layers = { {}, { rotation = { kind = "none" } } }')
  lu.assertEquals({ shared.rotation.kind, shared.layer1, shared.layer2.rotation.kind }, { "rope", {}, "none" })
end

function TestLayers.test_other_models_are_refused_by_name()
  local _, message = make_spec('layers = { "rope", "none" }', 'kind = "encoder_decoder"')
  lu.assertStrContains(message, 'encodings by layer in a model of kind "encoder_decoder"')
  _, message = make_spec('layer2 = { use = "rope" }', "layers = 2")
  lu.assertStrContains(message, "encoding.layer1: is missing")
end

support.run()
