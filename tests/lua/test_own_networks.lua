-- A user's own networks: the built-in encoder as a description, digests, loops, positions, and several attentions.

local support = dofile("tests/lua/support.lua")

local grid = require("lab.study.grid.grid")
local lists = require("base.lists")
local lu = require("luaunit")
local own_networks = require("own_networks")
local plan_page = require("lab.pages.plan_page")
local project_module = require("project")
local spec_writer = require("lab.study.read.spec_writer")

local plan_network, accept_network, make_description = own_networks.plan_network, own_networks.accept_network,
  own_networks.make_description
local PLAIN, FULL = own_networks.PLAIN, own_networks.FULL

local project = project_module.new(".")

TestOwn = {}

local ENCODINGS = { "", ", encoding = { kind = 'rope' }", ", encoding = { kind = 'sinusoid' }",
  ", encoding = { kind = 'learned' }", ", encoding = { kind = 'relative' }", ", encoding = { kind = 'alibi' }",
  ", encoding = { kind = 'geometric' }" }

local SMALL = "layers = 2, heads = 2, width = 16, feedforward = 32"

-- A user's description of the encoder gives the tensors, operations and model digest of the built-in encoder.
function TestOwn.test_a_description_of_the_encoder_gives_its_model()
  for _, encoding in ipairs(ENCODINGS) do
    local spec = 'return { task = { kind = "bucket_sort" }, model = { %s' .. SMALL .. " }" .. encoding .. " }"
    local plan = accept_network(PLAIN, nil, spec:format('source = "net.lua", '))
    local built_in_plan = project:plan(support.write("built_in.lua", spec:format(""))).plan
    lu.assertEquals(plan.tensors, built_in_plan.tensors, encoding)
    lu.assertEquals(plan.structs, built_in_plan.structs, encoding)
    lu.assertEquals(plan.model_digest, built_in_plan.model_digest, encoding)
    lu.assertNotEquals(plan.digest, built_in_plan.digest, encoding)
    lu.assertEquals(plan.flops_per_step, built_in_plan.flops_per_step, encoding)
  end
end

-- The plan digest covers the bytes of the file and the options, but not the path of the file.
function TestOwn.test_the_plan_s_digest_covers_the_bytes_of_the_description()
  local plan = accept_network(PLAIN)
  lu.assertEquals(accept_network(PLAIN).digest, plan.digest)
  lu.assertEquals(plan.own_network.path, "net.lua")
  support.write("there/net.lua", PLAIN)
  lu.assertEquals(accept_network(PLAIN, { "model.source=there/net.lua" }).digest, plan.digest)
  local commented_plan = accept_network(PLAIN .. "-- and a comment\n")
  lu.assertNotEquals(commented_plan.digest, plan.digest)
  lu.assertEquals(commented_plan.model_digest, plan.model_digest)
  local gelu = accept_network(PLAIN, { "model.options.kind=gelu" })
  lu.assertNotEquals(gelu.digest, plan.digest)
  lu.assertNotEquals(gelu.model_digest, plan.model_digest)
  lu.assertEquals(gelu.resolved.model.options, { kind = "gelu" })
  local wider = accept_network(PLAIN, { "model.options.ratio=4" })
  lu.assertNotEquals(wider.model_digest, plan.model_digest)
end

function TestOwn.test_state_of_a_description_does_not_persist()
  local text = "local calls = 0\n" .. PLAIN:gsub("local kind", [[calls = calls + 1
  assert(calls == 1, "again")
  %0]])
  lu.assertEquals(accept_network(text).digest, accept_network(text).digest)
end

function TestOwn.test_two_blocks_have_parameters_of_their_own()
  local plan = accept_network((make_description(FULL):gsub("  net:classify.*", [[
  local c = net:block("second", 3)
  local g = c:input(b.result)
  c:output(c:norm("n", c:add(g, c:attention("self", g, g)), "rms"))
  net:classify(net:readout(c.result, "last"))
end
]])))
  lu.assertEquals(table.concat(lists.get_names(plan.trace_sites), " "),
    "embedding layers.0.output layers.1.output seconds.0 seconds.0.output "
    .. "seconds.1 seconds.1.output seconds.2 seconds.2.output")
end

-- A block uses the random positions of its own attention, which has as many draws as the block has layers.
function TestOwn.test_random_positions_are_those_of_the_block()
  local text = [[
return function(net, model)
  local x = net:embed("embedding", net:stream("source"), { scale = 4 })
  local front = net:block("front", 1)
  local h = front:input(x)
  front:output(front:norm("n", front:add(h, front:attention("self", h, h, { name = "%s" }))))
  local b = net:block("layer", model.layers)
  local g = b:place(b:input(front.result), net.additive)
  b:output(b:norm("n", b:add(g, %s)))
  net:classify(net:readout(b.result, "last"))
end
]]
  local sampled_positions = { "encoding.additive.kind=learned", "encoding.additive.at=block",
    "encoding.positions.kind=randomized", "encoding.positions.max_position=4000", "encoding.positions.draw=layer" }
  local attention, feedforward = 'b:attention("self", g, g)', 'b:feedforward(g, { hidden = 32, activation = "relu" })'
  local plan = accept_network(text:format("near", attention), sampled_positions)
  lu.assertEquals(plan.cpu.blocks[2].forward[1].positions, "w->shared->self_position[l]")
  lu.assertFalse(plan.no_device_code)
  local without_attention = text:format("self", feedforward)
  local result, message = plan_network(without_attention, sampled_positions)
  lu.assertTrue(result == nil)
  lu.assertStrContains(message, "net.lua:7:1: error: place() is called 2 times, without attention, and positions are "
    .. "drawn for 1 layer")
  sampled_positions[#sampled_positions] = "encoding.positions.draw=pass"
  lu.assertEquals(accept_network(without_attention, sampled_positions).cpu.blocks[2].forward[1].positions,
    "w->shared->position[0]")
end

-- The counter of random numbers has one byte for places with dropout: in training for the places of a repetition of a
-- block, in evaluation for the places of a whole pass.
function TestOwn.test_too_many_places_of_an_evaluation_with_dropout_are_refused()
  local text = make_description([[local a = b:add(h, b:attention("self", h, h), model.dropout)
b:output(b:norm("n", %s))]]):gsub('"layer", model.layers', '"layer", 2, "A block.", { loops = model.options.loops }')
  accept_network(text:format("a"), { "model.options.loops=64", "eval.dropout=true" })
  local changed_text = text:format("b:add(a, h, model.dropout)")
  accept_network(changed_text, { "model.options.loops=64" })
  local result, message = plan_network(changed_text, { "model.options.loops=64", "eval.dropout=true" })
  lu.assertTrue(result == nil)
  lu.assertStrContains(message, "2 dropouts in each of 129 layers")
end

-- The loops of a block share its parameters, which are stored once; each loop is traced.
function TestOwn.test_repetitions_share_parameters()
  local text = make_description([[b:output(b:norm("n", b:add(h, b:attention("self", h, h), model.dropout)))]])
    :gsub('"layer", model.layers', '%0, "A block.", { loops = 3 }')
  local without_loops = text:gsub("loops = 3", "loops = 1")
  for _, encoding in ipairs({ "none", "relative" }) do -- the second has parameters for each layer
    local sets = { "model.dropout=0.1", encoding ~= "none" and "encoding.relative.kind=transformer_xl" or nil }
    local plan, single_plan = accept_network(text, sets), accept_network(without_loops, sets)
    lu.assertEquals(plan.tensors, single_plan.tensors)
    lu.assertNotEquals(plan.model_digest, single_plan.model_digest)
    lu.assertEquals(plan.flops_per_step, 3 * single_plan.flops_per_step)
    lu.assertEquals({ plan.cpu.blocks[1].stored, #plan.trace_sites }, { 6, 1 + 2 * 6 })
    lu.assertEquals(plan.trace_sites[12].name, "layers.5")
  end
end

-- Every loop stores attention weights for the backward pass, as separate layers do.
function TestOwn.test_every_loop_caches_weights()
  local block = make_description([[b:output(b:norm("n", b:add(h, b:attention("self", h, h))))]])
  local function count_saved_values(layers, loops)
    local text = block:gsub('"layer", model.layers', ('"layer", %d, "A block.", { loops = %d }'):format(layers, loops))
    return accept_network(text, { "train.lengths={1,400}" }).attentions[1].recomputed.pairs
  end
  lu.assertEquals(count_saved_values(2, 6), count_saved_values(12, 1))
  lu.assertEquals(count_saved_values(4, 1), 2 * count_saved_values(4, 2))
end

-- Every attention of a model stores its weights for the backward pass, even an attention with dropout of weights.
function TestOwn.test_several_attentions_cache_weights()
  local function derive_recomputed(rate)
    local text = make_description(([[local a = b:add(h, b:attention("self", h, h))
b:output(b:norm("n", b:add(a, b:attention("self", a, a, { name = "again", dropout = %s }))))]]):format(rate))
    local list = accept_network(text, { "train.lengths={1,400}", "model.layers=12" }).attentions
    return list[1].recomputed, list[2].recomputed
  end
  local one_call = make_description([[b:output(b:norm("n", b:add(h, b:attention("self", h, h))))]])
  local single_call = accept_network(one_call, { "train.lengths={1,400}", "model.layers=12" }).attentions[1].recomputed
  local first, second = derive_recomputed("0")
  lu.assertEquals({ 2 * first.pairs, 2 * second.pairs }, { single_call.pairs, single_call.pairs })
  first, second = derive_recomputed("0.1")
  lu.assertEquals({ 2 * first.pairs, second }, { single_call.pairs, false })
end

-- A product with as many channels as the model's width gives values of the model's width.
function TestOwn.test_a_number_of_channels_may_equal_the_width()
  accept_network(make_description([[
  local wide = b:activation("wide", b:product("w", h, 64), "gelu")
  b:output(b:norm("n", b:add(h, b:product("back", wide, model.width))))]]))
end

-- The mask of a sum has the sum's channels, which may differ from the model's width.
function TestOwn.test_masks_have_the_width_of_their_values()
  local plan = accept_network(make_description([[
  local sum = b:add(b:product("one", h, 64), b:product("two", h, 64), 0.25)
  b:output(b:norm("n", b:add(h, b:product("back", b:activation("bent", sum, "gelu"), model.width), 0.1)))]]))
  local widths = lists.map(plan.cpu.blocks[1].forward, function(record)
    return record.kind == "draw" and record.width or nil
  end)
  lu.assertEquals(widths, { "ONE_CHANNELS", "WIDTH" })
end

function TestOwn.test_a_description_may_be_a_decoder()
  local plan = accept_network(make_description(FULL), { "model.kind=decoder" })
  lu.assertEquals({ plan.decoder.separator, plan.first_family.mask.kind }, { 10, "causal" })
end

function TestOwn.test_two_streams_are_refused()
  local result, message = plan_network(PLAIN, { "model.kind=encoder_decoder" })
  lu.assertNil(result)
  lu.assertStrContains(message, "model.kind: a network of your own reads one stream of tokens")
end

function TestOwn.test_no_spec_is_written_for_a_run_with_an_own_network()
  local text, reason = spec_writer.write_spec(accept_network(PLAIN).resolved)
  lu.assertNil(text)
  lu.assertEquals(reason, "its network is a file of the user's own, net.lua")
end

-- A study varies options; the file's path is relative to the study.
function TestOwn.test_a_study_varies_options()
  support.write("study/net.lua", PLAIN)
  local path = support.write("study/kinds.lua", [[return { title = "Kinds", base = { task = { kind = "bucket_sort" },
    model = { source = "net.lua", layers = 2, heads = 2, width = 16, feedforward = 32 } }, axes = { { name = "kind",
    values = { { name = "gelu", spec = { model = { options = { kind = "gelu" } } } },
      { name = "relu", spec = {} } } } } }]])
  local gelu = grid.plan_cell(project, path .. ":gelu", {})
  local relu = grid.plan_cell(project, path .. ":relu", {})
  lu.assertEquals(gelu.plan.resolved.model.options, { kind = "gelu" })
  lu.assertNil(relu.plan.resolved.model.options)
  lu.assertNil(relu.plan.network_identity)
  lu.assertNotEquals(gelu.plan.digest, relu.plan.digest)
end

-- An attention has tables and random positions for each layer of its block. A score has model.layers layers, so an
-- attention with a score must be applied model.layers times.
function TestOwn.test_an_encoding_may_depend_on_the_number_of_layers()
  local spec = [[return { task = { kind = "bucket_sort" }, encoding = { kind = "%s" },
    model = { source = "net.lua", layers = 2, heads = 2, width = 16, feedforward = 32 } }]]
  local three_layers = PLAIN:gsub('"layer", model.layers', '"tower", 3')
  local family = accept_network(three_layers, nil, spec:format("relative")).first_family
  lu.assertEquals({ family.layers, family.stack.member, family.stack.count }, { 3, "tower", "TOWER_LAYERS" })
  lu.assertEquals(accept_network(three_layers, { "encoding.positions.kind=randomized" },
    spec:format("rope")).first_family.positions.draws, 3)
  local result, message = plan_network(three_layers, nil, spec:format("alibi"))
  lu.assertTrue(result == nil)
  lu.assertStrContains(message, "net.lua:8:1: error: attention self is applied 3 times")
  lu.assertStrContains(message, "model.layers = 2 repetitions")
end

-- A network without attention has no encoding; a second attention has the same facets with names of its own.
function TestOwn.test_a_network_may_have_no_attention_or_two()
  local plan = accept_network(make_description(FULL))
  lu.assertEquals(plan.attentions, {})
  lu.assertStrContains(plan_page.format_page(plan), "no positional encoding")
  local two_families = accept_network(make_description([[
  local a = b:norm("n", b:add(h, b:attention("self", h, h)))
  b:output(b:norm("m", b:add(a, b:attention("self", a, a, { name = "far" }))))]]), { "encoding.rotation.kind=rope" })
  lu.assertEquals({ two_families.attentions[1].name, two_families.attentions[2].name }, { "self", "far" })
  lu.assertEquals({ two_families.attentions[1].PREFIX, two_families.attentions[2].PREFIX }, { "SELF_", "FAR_" })
  lu.assertEquals(two_families.attentions[2].rotation, two_families.attentions[1].rotation)
  lu.assertEquals(two_families.trace_sites[3].name, "layers.0.far")
  lu.assertStrContains(plan_page.format_page(two_families), "\n  layers.0.far.query.weight ")
end

support.run()
