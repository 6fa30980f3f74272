-- Output of `export pytorch`: formulas as Python, facets of attention, constants of a model, and requests of examples
-- that are compared with Longhand. test_export_network.lua tests networks.

local support = dofile("tests/lua/support.lua")

local export_run = require("lab.export.export_run")
local exports = require("exports")
local lists = require("base.lists")
local lu = require("luaunit")
local pytorch = require("lab.export.pytorch")
local torch = require("expression.torch")

local assert_has, assert_lacks, render_spec = exports.assert_has, exports.assert_lacks, exports.render_spec
local RANDOM = exports.RANDOM

-- Returns the Python code of an encoding's score: { lines, uses = the set of names that the lines need }.
local function render_body(encoding)
  local _, info = support.accept(('return { task = { kind = "even_pairs" }, encoding = %s }'):format(encoding))
  return torch.format(info.score.root)
end

local function render_score(formula, more_fields)
  return render_body(("{ score = function(x) return %s end%s }"):format(formula, more_fields or ""))
end

TestTorch = { tearDown = support.clean }

function TestTorch.test_operators_keep_their_order()
  lu.assertEquals(render_score("x.score - (x.query - x.key) * 2 / (1 + abs(x.distance))").lines,
    { "return score - -2 * distance / (torch.abs(distance) + 1)" })
  lu.assertEquals(render_score("(x.score - x.head) * (x.score - (x.query - 3))").lines,
    { "return (score - head) * (score - (index[:, None] - 3))" })
  lu.assertEquals(render_score("-(x.score ^ 2)").lines, { "return -(score * score)" })
  lu.assertEquals(render_score("x.score + pow(1 + x.key, x.head)").lines, { "return score + (index + 1) ** head" })
  lu.assertEquals(render_score("x.score + pow(1.5, x.head)").lines,
    { "return score + torch.exp(0.40546510810816438 * head)" })
end

function TestTorch.test_functions_of_tensors_and_numbers()
  lu.assertEquals(render_score("min(x.score, 3) + max(x.query, x.key)").lines,
    { "return score.clamp(max=3) + torch.maximum(index[:, None], index)" })
  lu.assertEquals(render_score("x.score + select(any(less(x.distance, 0), equal(x.key, 2)), 1, 0.5)").lines,
    { "return score + torch.where(torch.logical_or(distance < 0, index == 2), 1.0, 0.5)" })
  local actual = render_score("x.score + bucket(abs(x.distance), { 1, 4 })")
  lu.assertEquals(actual.lines, { "return score + bucket(torch.abs(distance), [1, 4])" })
  lu.assertTrue(actual.uses.bucket)
  lu.assertNil(actual.uses.index)
end

function TestTorch.test_parameters_of_a_layer_and_of_all_layers()
  local actual = render_score("x.score + x.a + lookup(x.b, mod(x.key, 4)) + lookup(x.c, 1)", [[, parameters = {
    a = { per = "layer_head", init = 0 }, b = { per = "head", shape = 4, init = 0 }, c = { shape = 2, init = 0 } }]])
  lu.assertEquals(actual.lines, {
    'a = score + own["a"][:, None, None] + shared["b"][head, torch.remainder(index, 4).long()]',
    'return a + shared["c"][1]' })
  lu.assertTrue(actual.uses.own and actual.uses.shared and actual.uses.head)
end

function TestTorch.test_values_used_twice_are_named_and_long_lines_are_split()
  lu.assertEquals(render_score("x.score + exp(-abs(x.distance) / 8) * (1 - exp(-abs(x.distance) / 8))").lines,
    { "a = torch.exp(-0.125 * torch.abs(distance))", "return score + a * (1 - a)" })
  for _, name in ipairs({ "fire", "t5", "kerple_power", "sandwich", "log_length", "alibi" }) do
    for _, line in ipairs(render_body(("{ use = %q }"):format(name)).lines) do
      lu.assertTrue(#line <= 124, name .. ": " .. line)
    end
  end
end

-- The terms of a sum are a dimension of a tensor. If an inner sum does not depend on the outer sum, it lacks the outer
-- sum's dimension.
function TestTorch.test_nested_sums_drop_unused_dimensions()
  local term, inner = "term = torch.arange(3.0).to(score)[:, None, None, None, None, None]", "sin(m * x.key)"
  local sums = "x.score + sum(8, function(n) return %s * sum(3, function(m) return %s end) end)"
  lu.assertEquals(render_score(sums:format("2", inner)).lines,
    { term, "return score + 16 * torch.sin(term * index).sum(dim=(0, 1))" })
  lu.assertEquals(render_score(sums:format("n", inner .. " * n")).lines[2], (term:gsub("term", "term2", 1)))
  lu.assertStrContains(render_score(sums:format("n", "sin(m * n)")).lines[3], "torch.sin(term2 * term).sum(dim=0)")
end

TestPytorch = { tearDown = support.clean }

-- Returns the problem that prevents the export of an encoder, or nil. change(resolved spec, plan) changes a plain
-- encoder first.
local function find_problem(change)
  local spec = { plan = { eval_dropout = false, attentions = { { name = "self" } } }, resolved = {
    encoding = { rotation = { kind = "none" }, relative = { kind = "none" }, positions = { kind = "index" },
      additive = { kind = "none" } }, model = { kind = "encoder", layers = 1 }, task = { kind = "x" } } }
  change(spec.resolved, spec.plan)
  return pytorch.find_problem(spec)
end

function TestPytorch.test_unknown_facets_are_named()
  lu.assertNil(find_problem(function() end))
  lu.assertEquals(find_problem(function(spec) spec.encoding.relative.kind = "spiral" end),
    'does not know encoding.relative.kind = "spiral"')
  lu.assertEquals(find_problem(function(spec) spec.encoding.gate = { kind = "on" } end),
    'does not know encoding.gate = {"kind":"on"}')
  lu.assertEquals(find_problem(function(spec) spec.encoding.normaliser = { kind = "entmax" } end),
    'does not know encoding.normaliser.kind = "entmax"')
  lu.assertEquals(find_problem(function(spec) spec.encoding.positions.range = "centred" end),
    'does not know encoding.positions.range = "centred"')
  lu.assertEquals(find_problem(function(spec) spec.task.curriculum = 3 end), "does not know task.curriculum = 3")
  lu.assertStrContains(find_problem(function(_, plan) plan.eval_dropout = true end), "eval.dropout = true")
end

-- The facets of a family are checked, too; false means that the family lacks a facet.
function TestPytorch.test_unknown_facets_of_a_family_are_named()
  lu.assertNil(find_problem(function(spec) spec.encoding.cross = { mask = false, rotation = { kind = "rope" } } end))
  lu.assertEquals(find_problem(function(spec) spec.encoding.cross = { rotation = { kind = "spin" } } end),
    'does not know encoding.cross.rotation.kind = "spin"')
end

local function render_model(encoding, fields)
  return render_spec(('{ task = { kind = "reverse_string" }, encoding = { %s }%s }'):format(encoding, fields or ""))
end

function TestPytorch.test_an_encoder_decoder()
  local sizes = ", model = { kind = 'encoder_decoder', encoder_layers = 1, decoder_layers = 2, heads = 2, width = 16 }"
  local text = render_model("kind = 'rope', encoder = { mask = { kind = 'window', left = 2 } }", sizes)
  assert_has(text, "self.cross_attention", "self.encoder", "self.decoder")
  assert_has(render_model("kind = 'alibi'", sizes), "change_score")
  for _, kind in ipairs({ "rope", "sinusoid", "alibi" }) do
    local spec = exports.plan_text(("{ task = { kind = 'reverse_string' }, "
      .. "encoding = { kind = %q, positions = { kind = 'randomized' } }%s }"):format(kind, sizes))
    local facts, problem = pytorch.derive_facts(spec, exports.RUN, exports.project:build_network(spec))
    lu.assertEquals({ facts, problem }, { nil, "does not know sampled positions of two streams" })
  end
end

function TestPytorch.test_geometric_attention_has_only_the_code_that_it_uses()
  local full_text = render_model('kind = "geometric"')
  assert_has(full_text, "class Direction(nn.Linear)", "score = self.geometric(query, key) + self.direction(h)")
  assert_has(full_text, ".clamp(min=1e-12)")
  assert_lacks(full_text, "softmax", "change_score", "math.sqrt(WIDTH // HEADS)")
  local raw_text = render_model('normaliser = { kind = "geometric", normalised = false, directional = false }')
  assert_has(raw_text, "score = self.geometric(query, key)\n", "    return weight\n")
  assert_lacks(raw_text, "irection", "min=1e-12")
  assert_lacks(render_model('use = "sinusoid"'), "eometric", "match_first", "COMPUTATION")
end

function TestPytorch.test_stick_breaking_has_only_the_code_that_it_uses()
  local CAUSAL = 'mask = { kind = "causal" }, normaliser = { kind = "stick_breaking"%s }'
  local causal = render_model(CAUSAL:format(""))
  assert_has(causal, "mixed = break_stick(score) @ value", ".triu(), -math.inf)\n", "    return weight\n")
  assert_lacks(causal, "softmax", "diag_embed")
  local rests = render_model(CAUSAL:format(', own_key = true, rest = "own_value"'))
  assert_has(rests, "    return weight + missed.sum(dim=-1).exp().diag_embed()")
  assert_lacks(rests, "triu()")
end

function TestPytorch.test_a_score_that_reads_the_layer()
  assert_has(render_model("score = function(x) return x.score + x.layer end"), "self.attention = Attention(layer)",
    "        self.layer = layer\n", "nn.ModuleList(Layer(layer) for layer in range(LAYERS))")
end

function TestPytorch.test_positions_from_one()
  local one_based = render_model(RANDOM:format('range = "one_based"') .. 'additive = { kind = "learned" }')
  assert_has(one_based, "MAX_POSITION = 2000\n", "from 1 to MAX_POSITION, ascending",
    'self.embed["position"](place - 1)',
    "return (1 + torch.randperm(MAX_POSITION, device=tokens.device))[:tokens.shape[1]].sort().values")
  assert_has(render_model(RANDOM:format('range = "one_based"') .. 'use = "relative"'),
    "0 and then ascending samples from 1 to MAX_POSITION.",
    "drawn = 1 + torch.randperm(MAX_POSITION, device=tokens.device)[:tokens.shape[1] - 1]")
  local zero_based = render_model(RANDOM:format("sorted = false") .. 'additive = { kind = "learned" }')
  assert_has(zero_based, 'self.embed["position"](place)', "distinct samples below MAX_POSITION.",
    "return torch.randperm(MAX_POSITION, device=tokens.device)[:tokens.shape[1]]\n")
end

function TestPytorch.test_draws_of_a_sequence_and_of_a_side()
  local sequence = render_model(RANDOM:format('draw = "sequence"') .. 'rotation = { kind = "rope" }')
  assert_has(sequence, "place = draw_positions(tokens, positions)\n        h = ",
    "[:, None, :, None] * speed")
  local sides = render_model(RANDOM:format('sides = "independent", draw = "pass"') .. 'use = "relative"')
  assert_has(sides, "for _ in range(2)", "drawn[(offset < 0).long(), offset.abs()]")
  local mirrored_text = render_model(RANDOM:format('draw = "layer"') .. 'use = "relative"')
  assert_lacks(mirrored_text, "range(2)", "len(tokens)", "def draw_positions")
end

function TestPytorch.test_tokens_of_the_model_itself()
  local base = 'task = { kind = "reverse_string" }, encoding = {}'
  assert_has(render_spec("{" .. base .. "}"), "TOKENS, CLASSES = 4, 2", "EMPTY = 3 ")
  assert_has(render_spec("{" .. base .. ", model = { spare_token = false } }"), "TOKENS, CLASSES = 3, 2", "EMPTY = 2 ")
  local text = render_spec('{ task = { kind = "reverse_string", computation = 3 }, encoding = {} }')
  assert_has(text, "TOKENS, CLASSES = 4, 2", "COMPUTATION = 2 ", "EMPTY = 3 ", "(batch, 3 * count), COMPUTATION")
  assert_has(render_spec('{ task = { kind = "reverse_string", computation = 1 }, encoding = {} }'),
    "(batch, count), COMPUTATION", "a computation token for each")
end

-- Returns the parts of a plan that a request needs. fields: parts without their defaults; ranges: the fields of the
-- stream that differ from the defaults, or nil.
local function make_plan(fields, ranges)
  local stream = setmetatable(ranges or {},
    { __index = { position_range = 0, distance_range = 0, first_position = 0 } })
  return setmetatable(fields, { __index = { limit = false, task = {}, streams = { stream }, computation = false,
    readout = "outputs" } })
end

-- Checks that a list has `count` ascending numbers from `first` to below `limit`.
local function assert_ascends(list, count, first, limit)
  lu.assertEquals(#list, count)
  for i, value in ipairs(list) do
    lu.assertTrue(value >= first and value < limit and (i == 1 or value > list[i - 1]))
  end
end

-- A request has a position and a distance for each token: for each input token and each output. With computation = 4
-- there are three more tokens for each input token.
function TestPytorch.test_requests_have_random_positions_and_distances()
  for _, count in ipairs({ 2, 7, 16 }) do
    local input = {}
    for i = 1, count - 1 do
      input[i] = 0
    end
    local actual = export_run.make_request(make_plan({}, { position_range = 16, distance_range = 16 }), input, 1)
    assert_ascends(actual.positions, count, 0, 16)
    assert_ascends(actual.distances, count, 0, 16)
    lu.assertEquals(actual.distances[1], 0)
  end
  local plan = make_plan({}, { position_range = 17, distance_range = 17, first_position = 1 })
  local request = export_run.make_request(plan, { 0, 1 }, 14)
  assert_ascends(request.positions, 16, 1, 17)
  assert_ascends(request.distances, 16, 0, 17)
  local computing_plan = make_plan({ computation = { tokens_per_symbol = 4 } }, { position_range = 16 })
  assert_ascends(export_run.make_request(computing_plan, { 0, 1 }, 3).positions, 11, 0, 16)
  lu.assertEquals(export_run.make_request(make_plan({}), { 1, 0 }, 2), { input = { 1, 0 } })
  lu.assertNil(export_run.make_request(make_plan({ limit = { tokens = 3 } }), { 1, 0 }, 2))
end

function TestPytorch.test_a_probe_occurs_once_in_inputs()
  for _, probe in ipairs({ 0, 1, 2 }) do
    local task = { probe = probe, input_count = 3, data = { longest = 64 } }
    for _, example in ipairs(export_run.make_data_inputs({ readout = "probe", task = task })) do
      lu.assertEquals(lists.count(example.input, function(symbol) return symbol == probe end), 1)
    end
  end
end

function TestPytorch.test_outputs_in_place_are_as_many_as_inputs()
  local plan = { readout = "in_place", task = { input_count = 3, data = { longest = 64 } } }
  for _, example in ipairs(export_run.make_data_inputs(plan)) do
    lu.assertEquals(example.outputs, #example.input)
  end
end

function TestPytorch.test_lengths_exceed_those_of_training()
  lu.assertEquals(export_run.choose_lengths({ train = { lengths = { first = 1, last = 40, step = 1 } } }), { 1, 40,
    80 })
  lu.assertEquals(export_run.choose_lengths({ train = { lengths = { list = { 3, 5 } } } }), { 3, 5, 10 })
  lu.assertEquals(export_run.choose_lengths({ train = { lengths = { list = { 3, 5 } } } }, true), { 3, 5 })
  lu.assertEquals(export_run.choose_lengths({ train = { lengths = { first = 7, last = 7, step = 1 } } }), { 7, 14 })
end

function TestTorch.test_a_pass_of_several_layers_is_one_loop()
  local fields = '{ task = { kind = "reverse_string" }, encoding = {}, model = { norm = { place = "pre" }, '
    .. 'loops = { times = 3, inject = true, start = "%s", norm = "%s" } } }'
  exports.assert_has(exports.render_spec(fields:format("zeros", "inside")), [[
        for _ in range(3):
            h = h + embedding
            for layer in self.layers:
                h = layer(h)
            h = self.norm(h)
        return self.output(h)
]])
  exports.assert_has(exports.render_spec(fields:format("embedding", "outside")), [[
        h = embedding
        for _ in range(3):
            h = h + embedding
            for layer in self.layers:
                h = layer(h)
        return self.output(self.norm(h))
]])
end

-- The noise from which passes start is sampled in every call, or it is an argument of the call.
function TestTorch.test_noise_is_sampled_or_an_argument()
  local text = exports.render_spec('{ task = { kind = "reverse_string" }, encoding = {}, model = { kind = "decoder", '
    .. 'loops = { times = 3, inject = true, start = "noise" } } }')
  exports.assert_has(text, "def draw_noise(like, given):", "    def forward(self, tokens, noise=None):\n",
    "0.02 * draw_noise(embedding, noise)", "def decode(model, inputs, outputs, noise=None):",
    'noise=example["noise"])')
  exports.assert_lacks(exports.render_spec("{ task = { kind = 'reverse_string' }, encoding = {} }"), "noise")
end

-- If there are as many passes as the task length, the forward pass has their number as an argument; the lines of
-- stored.jsonl state this number.
function TestTorch.test_passes_by_the_length_are_an_argument()
  local fields = '{ task = { kind = "reverse_string" }, train = { lengths = { 1, 20 } }, encoding = { %s }, '
    .. 'model = { norm = { place = "pre" }, loops = { times = "length", inject = %s } } }'
  exports.assert_has(exports.render_spec(fields:format("", "true")), "logits = model(with_outputs(inputs, 5), passes)[",
    "Its argument `passes` is the number of passes", "    def forward(self, tokens, passes):\n", [[
        for _ in range(passes):
            h = h + embedding
            for layer in self.layers:
                h = layer(h)
]], 'return model(tokens, example["passes"])[0, -count:]')
  exports.assert_has(exports.render_spec(fields:format(RANDOM:format('draw = "pass"') .. 'kind = "rope"', "false")),
    "    def forward(self, tokens, passes, positions=None):\n", [[
        for _ in range(passes):
            for layer in self.layers:
                h = layer(h, place)
]], 'return model(tokens, example["passes"], positions=example["positions"])[0, -count:]')
  lu.assertErrorMsgContains("does not know samples for each layer in block layer, which runs several times",
    render_spec, fields:format(RANDOM:format('draw = "layer"') .. 'kind = "rope"', "false"))
end

-- An output layer without a bias is a table with a row for each class, as a checkpoint stores it.
function TestTorch.test_a_feedforward_output_has_modules_of_its_own()
  local text = exports.render_spec('{ task = { kind = "reverse_string" }, encoding = {}, model = { kind = "decoder", '
    .. 'output = "feedforward", output_bias = false, activation = "geglu" } }')
  exports.assert_has(text, "self.final_map = nn.Linear(WIDTH, WIDTH, bias=False)",
    "self.output = nn.Embedding(2, WIDTH)", "self.final_norm = nn.LayerNorm(WIDTH)",
    "F.linear(self.final_map(self.final_norm(", ", self.output.weight)")
end

os.exit(lu.LuaUnit.run())
