-- Device code of models with several attentions or two streams: each attention family has constants, functions and
-- buffers of its own. tests/emulation tests the results of the code.

local support = dofile("tests/lua/support.lua")

local code = require("device_code")
local lu = require("luaunit")

local NARROW, ENCODINGS, ATTENTION_CODE = code.NARROW, code.ENCODINGS, code.ATTENTION_CODE
local render_device, describe_own, project = code.render_device, code.describe_own, code.project

TestFamilies = {}

-- Renders a spec; returns device.cu, cuda.c and the plan. encoding, model: Lua texts of fields.
local function render_spec(encoding, model)
  local path = support.write("families.lua", ([[
return { task = { kind = "duplicate_string" }, encoding = { %s }, model = { dropout = 0.1, %s%s } }
]]):format(encoding, model:find("heads") and "" or "heads = 4, ", model))
  local spec, message = project:plan(path, {})
  assert(spec, message)
  local text = support.index_texts(assert(project:render_files(spec.plan, true)))
  return text["device.cu"], text["cuda.c"], spec.plan
end

-- Text of the fields of an encoder-decoder model with a given width.
local PAIR = 'kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2, feedforward = 48, width = %d'

local function assert_has(text, list)
  for _, words in ipairs(list) do
    lu.assertStrContains(text, words)
  end
end

function TestFamilies.test_no_template_fills_a_slot_twice()
  for _, encoding in ipairs(ENCODINGS) do
    local templates = {}
    for _, term in ipairs(render_device(encoding, NARROW).first_family.on_device.terms) do
      lu.assertNil(templates[term.template], encoding .. ": " .. term.template)
      templates[term.template] = true
    end
  end
end

-- If the threads of a head have different numbers of channels, each family has its own function has_channel.
function TestFamilies.test_uneven_heads_call_existing_functions()
  local device = render_spec('use = "none"', "heads = 16, " .. PAIR:format(320))
  for name in device:gmatch("([%w_]*has_channel)%(") do
    lu.assertTrue(device:find("INLINE bool " .. name .. "(int d)", 1, true) ~= nil, name)
  end
end

-- If each layer has its own random positions, calls have an argument for the layer.
function TestFamilies.test_calls_for_sampled_positions_have_the_arguments_of_the_function()
  local draws = 'positions = { kind = "randomized", max_position = 2048, draw = %q }'
  local models = { 'kind = "encoder", width = 32', PAIR:format(32) }
  for _, draw in ipairs({ "pass", "layer" }) do
    for _, model in ipairs(models) do
      local device = render_spec('use = "rope", additive = { kind = "sinusoid", at = "block" }, '
        .. draws:format(draw), model)
      local calls = 0
      for name, list in device:gmatch("([%w_]*find_[%w_]*positions)(%b())") do
        local commas = select(2, list:gsub(",", ","))
        lu.assertEquals(commas, draw == "pass" and 0 or 1, name .. list)
        calls = calls + 1
      end
      lu.assertTrue(calls > 1, model)
    end
  end
end

function TestFamilies.test_each_family_has_its_own_constants_functions_and_buffers()
  local device = render_spec('encoder = { use = "geometric" }, decoder = { use = "relative" }, cross = { use = "t5" }',
    PAIR:format(32))
  for _, family in ipairs({ "encoder", "decoder", "cross" }) do
    assert_has(device, { ("NOINLINE void %s_attend(void) {"):format(family),
      ("typedef struct %s_head {"):format(family) })
  end
  assert_has(device, { "enum { ENCODER_QUERY_SUMS = 3 };", "reals decoder_rows;", "char *cross_score;",
    "#define CROSS_LOGIT_SCALE ", "encoder_attend_backward(encoder_layer_dweights());", "cross_attend_backward();" })
  lu.assertNotStrContains(device, "encoder_rows")
  lu.assertNotStrContains(device, "cross_rows")
end

function TestFamilies.test_queries_of_one_stream_attend_to_keys_of_another()
  local device, host = render_spec('kind = "rope"', PAIR:format(32))
  assert_has(device, { "CROSS_QUERY_STRIDE = WIDTH,", "CROSS_KEY_STRIDE = 2 * WIDTH,", "a.S = v->T.source;",
    "cross_rotate(1, block()->view.T.target, CROSS_QUERY_STRIDE, s->cross_query);",
    "cross_rotate(1, block()->view.T.source, CROSS_KEY_STRIDE, s->cross_key_value);",
    "b->target_tokens = b->step.tokens[1] + ", "embed_target_backward(b->gradient);" })
  assert_has(host, { "static lengths make_lengths(const lh_shape *shape)" })
  lu.assertEquals(select(2, device:gsub("g%->token%[e %+ i%] %+= sum", "")), 1) -- the first gradient is stored
end

-- Functions of kernels/cuda/score_cross.cu sum the gradients of pairs of a query and a key.
function TestFamilies.test_learned_scores_of_cross_attention_have_their_kernels()
  local device = render_spec([[cross = { score = function(x)
    return x.score + tanh(exp(x.gain * x.distance) + exp(x.slope * x.query_index)) end,
    parameters = { gain = { init = 0.1 }, slope = { init = 0.1 } } }]], PAIR:format(32))
  local count = 0
  for name in device:gmatch("(sum_[%w_]+)%(w%.") do
    lu.assertStrContains(device, "INLINE real " .. name .. "(")
    count = count + 1
  end
  lu.assertTrue(count > 0)
end

-- With several families the names are long, so lines are wrapped.
function TestFamilies.test_lines_are_no_longer_than_120_columns()
  for _, width in ipairs({ 32, 256 }) do
    local texts = { render_spec('encoder = { use = "geometric" }, decoder = { use = "relative", '
      .. 'score = { use = "alibi_learned" } }, cross = { use = "relative", score = { use = "t5" } }',
      PAIR:format(width)) }
    for i = 1, 2 do
      for line in texts[i]:gmatch("[^\n]+") do
        local may_be_long = line:find("^%s+{.*},$") or line:find("Generated by", 1, true)
        lu.assertTrue(#line <= 120 or may_be_long ~= nil, line)
      end
    end
  end
end

function TestFamilies.test_shared_text_of_both_blocks_occurs_once()
  local device = render_spec('kind = "none"', PAIR:format(32))
  lu.assertEquals(select(2, device:gsub("below = BRANCH_DROP_BELOW", "")), 1)
  lu.assertEquals(select(2, device:gsub("typedef global<real> reals;", "")), 1)
end

-- The rate of a dropout depends on the dropout's place in the block.
function TestFamilies.test_rates_by_place_are_chosen_in_every_block()
  local device = render_spec('additive = { kind = "sinusoid", at = "block", dropout = 0.2 }', PAIR:format(32))
  lu.assertEquals(select(2, device:gsub("below = place == 0 %?", "")), 2)
end

local CROSS_DISTANCES = 'cross = { relative = { kind = "transformer_xl" } }'

function TestFamilies.test_comments_name_the_family_s_values()
  local device = render_spec('kind = "relative", ' .. CROSS_DISTANCES, PAIR:format(32))
  lu.assertNotStrContains(device, "times LOGIT_SCALE")
  assert_has(device, { "[target_rows][DECODER_HEADS] sums of", "[source_rows][CROSS_HEADS] sums of" })
end

function TestFamilies.test_comments_write_a_or_an_before_the_name_of_a_layer()
  local device = render_spec('kind = "none"', PAIR:format(32))
  assert_has(device, { "/* Values that an encoder_layer stores",
    "/* Values that a decoder_layer stores" })
end

-- One stream stores its gradient of the bias, and the other stream adds its own.
function TestFamilies.test_a_linear_embedding_of_two_streams_adds_the_bias_of_both()
  local device = render_spec('kind = "learned", additive = { rows = 2000 }',
    PAIR:format(32) .. ', embedding = "linear"')
  lu.assertNotStrContains(device, "EMBEDDING_SCALE")
  assert_has(device, { "    add_column_sums(rows, WIDTH, w->gradient, g->token_bias);",
    "    column_sums(rows, WIDTH, WIDTH, w->target_gradient, g->token_bias);" })
end

-- The host's list of launches has the number of rows of each product.
function TestFamilies.test_products_of_a_wide_model_are_over_the_rows_of_a_stream()
  local _, host = render_spec('kind = "none"', PAIR:format(256))
  assert_has(host, { "launch_list all = {first, sequences * T.source, sequences * T.target}, *list = &all;",
    "forward(list, list->source_rows, WIDTH, 2 * WIDTH, w->encoder_norm, p->cross_key_value, s->cross_key_value);",
    "forward(list, list->target_rows, WIDTH, WIDTH, s->cross_attended, p->cross_output, w->" })
end

-- Lua text of a block with two attentions.
local TWICE = 'block:output(block:norm("n", block:add(' .. ATTENTION_CODE ..
  ', block:attention("self", h, h, { name = "other" }))))'

-- In memory, the random distances of a family follow the distances of the previous family.
function TestFamilies.test_draws_follow_those_of_the_previous_family()
  support.write("twice.lua", describe_own(TWICE))
  local device, host = render_spec('kind = "relative", positions = { kind = "randomized", max_position = 2000 }',
    'source = "twice.lua", layers = 2, width = 32, feedforward = 48')
  assert_has(device, { "v->self_draws = in->draws;", "v->other_draws = v->self_draws + self_draw_count(v);" })
  assert_has(host, { "out += self_draw_count(shape);",
    "lh_draw_or_copy_distances(distances[0], from, (uint32_t)d + 1 + 3, OTHER_MAX_POSITION, T" })
end

-- All attentions of a sequence read the same positions.
function TestFamilies.test_sequences_draw_once_for_all_families()
  support.write("twice.lua", describe_own(TWICE))
  local device, host = render_spec(
    'kind = "rope", positions = { kind = "randomized", max_position = 2000, draw = "sequence" }',
    'source = "twice.lua", layers = 2, width = 32, feedforward = 48')
  assert_has(device, { "v->sequence_draws = in->draws;", "block()->view.sequence_draws + (size_t)block()->first" })
  assert_has(host, { ".draw_scratch = SELF_MAX_POSITION,", ".draw_count = sequence_draw_count,",
    "return (size_t)shape->sequences * (size_t)shape->length[0];" })
  lu.assertNotStrContains(device, "self_draws")
end

local SAMPLED = 'positions = { kind = "randomized", max_position = 4000, range = "one_based"%s }'

-- A step draws positions for the added vectors of each stream, then positions for each family.
-- Cross-attention has random positions of queries and of keys.
function TestFamilies.test_each_of_two_streams_draws_independently()
  local device, host = render_spec('kind = "relative", rotation = { kind = "rope" }, additive = { kind = "learned" }, '
    .. CROSS_DISTANCES .. ", " .. SAMPLED:format(""), PAIR:format(32))
  assert_has(device, { "v->target_input_draws = v->source_input_draws + in->T[0];",
    "v->cross_draws = v->decoder_draws + decoder_draw_count(v);",
    "return v->cross_draws + CROSS_DRAWS * v->T.target + l * v->T.source;",
    "cross_rotate(1, cross_find_key_positions(&block()->view, block()->l), ",
    "g->position_table[(v->target_input_draws[e / WIDTH] - FIRST_POSITION) * WIDTH" })
  assert_has(host, { "lh_sort_pairs(drawn + l * T, drawn + CROSS_DRAWS * T + l * S, T, S, ",
    ".draw_scratch = CROSS_PAIR_KEYS + 1,",
    "for (int d = 0; d < CROSS_DRAWS; d++, out += S) {" })
end

function TestFamilies.test_sequences_of_two_streams_draw_separately()
  local device, host = render_spec('kind = "rope", ' .. SAMPLED:format(', draw = "sequence"')
    .. ', decoder = { use = "alibi", rotation = { kind = "none" }, positions = { draw = "pass" } }', PAIR:format(32))
  assert_has(device, { "v->target_sequence_draws = v->source_sequence_draws + (size_t)in->sequences * in->T[0];",
    "v->decoder_draws = v->target_sequence_draws + (size_t)in->sequences * in->T[1];",
    "cross_rotate(1, target_sequence_positions(), block()->view.T.target, CROSS_QUERY_STRIDE, s->cross_query);" })
  assert_has(host, {
    "lh_draw_sequence(from, 1, from->first + (uint32_t)s, CROSS_FIRST_POSITION, CROSS_MAX_POSITION - 1, T, true" })
end

-- The blocks of each stream have a table of positions; the two streams draw their positions separately.
function TestFamilies.test_tables_of_positions_in_blocks_are_separate_for_two_streams()
  local learned = 'additive = { kind = "learned", at = "block"%s }'
  local device = render_spec(learned:format(", rows = 4000"), PAIR:format(32))
  assert_has(device, { "add_source_places(block()->input, encoder_layer_weights()->position_table,",
    "add_target_places(block()->input, decoder_layer_weights()->position_table,",
    "decoder_layer_places + (size_t)block()->l * T * WIDTH;" })
  device = render_spec(learned:format("") .. ", " .. SAMPLED:format(""), PAIR:format(256))
  assert_has(device, { "const int *position = v->target_input_draws;",
    "g->decoder_layer[l].position_table[(v->target_input_draws[row] - FIRST_POSITION) * WIDTH" })
end

-- Each block uses the positions of its own attention.
function TestFamilies.test_blocks_that_draw_separately_use_their_own_positions()
  support.write("placed.lua", support.read("tests/specs/descriptions/placed.lua"))
  local device = render_spec('additive = { kind = "sinusoid", at = "block" }, ' .. SAMPLED:format(', draw = "layer"'),
    'source = "placed.lua", layers = 2, width = 32, feedforward = 48')
  assert_has(device, { "add_front_places(block()->input, ", "const int *position = near_find_positions(v, block()->l);",
    "add_tower_places(block()->input, ", "const int *position = self_find_positions(v, block()->l);" })
  lu.assertNotStrContains(device, "again_find_positions")
end

function TestFamilies.test_names_of_the_only_family_that_draws_contain_its_name()
  local _, host, plan = render_spec('kind = "rope", encoder = { ' .. SAMPLED:format("") .. " }", PAIR:format(32))
  assert_has(host, { ".draw_count = encoder_draw_count,", ".draw = encoder_draw," })
  lu.assertEquals(#plan.cuda.step_draws, 1)
end

-- In a wide model, the host lists the products, and has no names for the layers of another block.
function TestFamilies.test_wide_models_refuse_products_with_the_output_of_another_block()
  support.write("outside.lua", [[
return function(net, model)
  local x = net:embed("embedding", net:stream("source"), { scale = 2 })
  local front = net:block("front", 2)
  local f = front:input(x)
  front:output(front:norm("n", front:add(f, front:attention("self", f, f))))
  local block = net:block("layer", 2)
  local h = block:input(x)
  local e = block:external(front.result)
  block:output(block:norm("n", block:add(h, block:product("inject", e, model.width))))
  net:classify(net:readout(block.result, "last"))
end
]])
  local spec = [[
return { task = { kind = "bucket_sort" }, encoding = { kind = "none" },
  model = { source = "outside.lua", layers = 2, heads = 4, width = %d, feedforward = 48, dropout = 0 } }
]]
  local narrow_plan = assert(project:plan(support.write("outside_spec.lua", spec:format(64)), {})).plan
  lu.assertFalse(narrow_plan.no_device_code)
  local wide_plan = assert(project:plan(support.write("outside_spec.lua", spec:format(256)), {})).plan
  lu.assertEquals(wide_plan.no_device_code.what,
    'a product of block "layer" with the output of block "front" in a wide model')
end

support.run()
