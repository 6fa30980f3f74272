-- What `export pytorch` writes: formulas as Python, what it knows, the draws that it compares at.

local support = dofile("tests/lua/support.lua")

local builder = require("network.builder")
local examples = require("export.examples")
local lu = require("luaunit")
local ops = require("network.ops")
local parameters = require("network.parameters")
local project = require("project").new(".")
local pytorch = require("export.pytorch")
local render = require("render.render")
local torch = require("expression.torch")

local function body_of(encoding)
  local _, info, d = support.check_text(('return { task = { kind = "even_pairs" }, encoding = %s }'):format(encoding))
  assert(info, d:text())
  return torch.formula(info.score.root)
end

local function score(formula, more)
  return body_of(("{ score = function(x) return %s end%s }"):format(formula, more or ""))
end

TestTorch = {}

function TestTorch.tearDown()
  support.clean()
end

function TestTorch.test_operators_keep_their_order()
  lu.assertEquals(score("x.score - (x.query - x.key) * 2 / (1 + abs(x.distance))").lines,
    { "return score - -2 * distance / (torch.abs(distance) + 1)" })
  lu.assertEquals(score("(x.score - x.head) * (x.score - (x.query - 3))").lines,
    { "return (score - head) * (score - (index[:, None] - 3))" })
  lu.assertEquals(score("-(x.score ^ 2)").lines, { "return -(score * score)" })
  lu.assertEquals(score("x.score + pow(1 + x.key, x.head)").lines, { "return score + (index + 1) ** head" })
  lu.assertEquals(score("x.score + pow(1.5, x.head)").lines, { "return score + torch.exp(0.40546510810816438 * head)" })
end

function TestTorch.test_functions_of_tensors_and_numbers()
  lu.assertEquals(score("min(x.score, 3) + max(x.query, x.key)").lines,
    { "return score.clamp(max=3) + torch.maximum(index[:, None], index)" })
  lu.assertEquals(score("x.score + select(any(less(x.distance, 0), equal(x.key, 2)), 1, 0.5)").lines,
    { "return score + torch.where(torch.logical_or(distance < 0, index == 2), 1.0, 0.5)" })
  local got = score("x.score + bucket(abs(x.distance), { 1, 4 })")
  lu.assertEquals(got.lines, { "return score + bucket(torch.abs(distance), [1, 4])" })
  lu.assertTrue(got.uses.bucket)
  lu.assertNil(got.uses.index)
end

function TestTorch.test_parameters_by_where_they_lie()
  local got = score("x.score + x.a + lookup(x.b, mod(x.key, 4)) + lookup(x.c, 1)", [[, parameters = {
    a = { per = "layer_head", init = 0 }, b = { per = "head", shape = 4, init = 0 }, c = { shape = 2, init = 0 } }]])
  lu.assertEquals(got.lines, {
    'a = score + own["a"][:, None, None] + shared["b"][head, torch.remainder(index, 4).long()]',
    'return a + shared["c"][1]' })
  lu.assertTrue(got.uses.own and got.uses.shared and got.uses.head)
end

function TestTorch.test_what_is_used_twice_is_named_and_long_lines_are_cut()
  lu.assertEquals(score("x.score + exp(-abs(x.distance) / 8) * (1 - exp(-abs(x.distance) / 8))").lines,
    { "a = torch.exp(-0.125 * torch.abs(distance))", "return score + a * (1 - a)" })
  for _, name in ipairs({ "fire", "t5", "kerple_power", "sandwich", "log_length", "alibi" }) do
    for _, line in ipairs(body_of(("{ use = %q }"):format(name)).lines) do
      lu.assertTrue(#line <= 124, name .. ": " .. line)
    end
  end
end

TestPytorch = {}

function TestPytorch.tearDown()
  support.clean()
end

local function problem_of(more)
  local spec = { plan = { eval_dropout = false, attentions = { { name = "self" } } }, resolved = {
    encoding = { rotation = { kind = "none" }, relative = { kind = "none" }, positions = { kind = "index" },
      additive = { kind = "none" } }, model = { kind = "encoder", layers = 1 }, task = { kind = "x" } } }
  more(spec.resolved, spec.plan)
  return pytorch.problem(spec)
end

function TestPytorch.test_what_it_does_not_know_is_named()
  lu.assertNil(problem_of(function() end))
  lu.assertEquals(problem_of(function(spec) spec.encoding.relative.kind = "spiral" end),
    'does not know encoding.relative.kind = "spiral"')
  lu.assertEquals(problem_of(function(spec) spec.encoding.gate = { kind = "on" } end),
    'does not know encoding.gate = {"kind":"on"}')
  lu.assertEquals(problem_of(function(spec) spec.encoding.normaliser = { kind = "entmax" } end),
    'does not know encoding.normaliser.kind = "entmax"')
  lu.assertEquals(problem_of(function(spec) spec.encoding.positions.range = "centred" end),
    'does not know encoding.positions.range = "centred"')
  lu.assertEquals(problem_of(function(spec) spec.task.curriculum = 3 end), "does not know task.curriculum = 3")
  lu.assertStrContains(problem_of(function(_, plan) plan.eval_dropout = true end), "eval.dropout = true")
end

-- Facets of one family; one that it goes without is false.
function TestPytorch.test_what_it_does_not_know_of_a_family_is_named()
  lu.assertNil(problem_of(function(spec) spec.encoding.self = { mask = false, rotation = { kind = "rope" } } end))
  lu.assertEquals(problem_of(function(spec) spec.encoding.self = { rotation = { kind = "spin" } } end),
    'does not know encoding.self.rotation.kind = "spin"')
  lu.assertEquals(problem_of(function(spec) spec.encoding.cross = { mask = false } end),
    'does not know encoding.cross = {"mask":false}')
end

local RUN = { info = { seed = 0, learning_rate = 1 }, metadata = { step = "0" } }

local function rendered(facts, problem)
  assert(facts, problem)
  local text, err = render.render("python/model.py.tpl", facts, function(...)
    return project:template(...)
  end)
  return text or error(project:template_error(err))
end

local function planned(spec)
  return assert(project:plan(support.write("model.lua", "return " .. spec)))
end

local function model_text(spec)
  local of = planned(spec)
  return rendered(pytorch.facts(of, RUN, project:network(of)))
end

local function text_of(encoding, more)
  return model_text(('{ task = { kind = "reverse_string" }, encoding = { %s }%s }'):format(encoding, more or ""))
end

local function assert_has(text, ...)
  for _, words in ipairs({ ... }) do
    lu.assertStrContains(text, words)
  end
end

local function assert_lacks(text, ...)
  for _, words in ipairs({ ... }) do
    lu.assertNotStrContains(text, words)
  end
end

-- Of an encoder-decoder that the network's own tensors name; scores of its attentions are refused.
function TestPytorch.test_an_encoder_decoder()
  local sizes = ", model = { kind = 'encoder_decoder', encoder_layers = 1, decoder_layers = 2, heads = 2, width = 16 }"
  local text = text_of("kind = 'rope', encoder = { mask = { kind = 'window', left = 2 } }", sizes)
  assert_has(text, "self.cross_attention", "self.encoder", "self.decoder")
  local of = planned("{ task = { kind = 'reverse_string' }, encoding = { kind = 'alibi' }" .. sizes .. " }")
  lu.assertEquals(pytorch.problem(of), "does not know encoding.score of several attentions")
end

function TestPytorch.test_geometric_has_what_it_uses()
  local full = text_of('kind = "geometric"')
  assert_has(full, "class Direction(nn.Linear)", "score = self.geometric(query, key) + self.direction(h)")
  assert_has(full, ".clamp(min=1e-12)")
  assert_lacks(full, "softmax", "change_score", "math.sqrt(WIDTH // HEADS)")
  local raw = text_of('normaliser = { kind = "geometric", normalised = false, directional = false }')
  assert_has(raw, "score = self.geometric(query, key)\n", "    return weight\n")
  assert_lacks(raw, "irection", "min=1e-12")
  assert_lacks(text_of('use = "sinusoid"'), "eometric", "match_first", "COMPUTATION")
end

local RANDOM = 'positions = { kind = "randomized", max_position = 2000, %s }, '

function TestPytorch.test_positions_from_one()
  local one = text_of(RANDOM:format('range = "one_based"') .. 'additive = { kind = "learned" }')
  assert_has(one, "MAX_POSITION = 2000\n", "from 1 to MAX_POSITION, drawn, ascending",
    'self.embed["position"](place - 1)', "return (1 + torch.randperm(MAX_POSITION))[:count].sort().values")
  assert_has(text_of(RANDOM:format('range = "one_based"') .. 'use = "relative"'),
    "ascending ones from 1 to MAX_POSITION", "drawn = 1 + torch.randperm(MAX_POSITION)[:count - 1]")
  local zero = text_of(RANDOM:format("sorted = false") .. 'additive = { kind = "learned" }')
  assert_has(zero, 'self.embed["position"](place)', "distinct ones below MAX_POSITION, drawn.",
    "return torch.randperm(MAX_POSITION)[:count]\n")
end

function TestPytorch.test_draws_of_a_sequence_and_of_a_side()
  local sequence = text_of(RANDOM:format('draw = "sequence"') .. 'rotation = { kind = "rope" }')
  assert_has(sequence, "place = draw_positions(len(tokens), count, positions)\n        h = ",
    "[:, None, :, None] * speed")
  local sides = text_of(RANDOM:format('sides = "independent", draw = "pass"') .. 'use = "relative"')
  assert_has(sides, "for _ in range(2)", "drawn[(offset < 0).long(), offset.abs()]")
  local mirrored = text_of(RANDOM:format('draw = "layer"') .. 'use = "relative"')
  assert_lacks(mirrored, "range(2)", "len(tokens)", "def draw_positions")
end

function TestPytorch.test_tokens_of_the_model_itself()
  local base = 'task = { kind = "reverse_string" }, encoding = {}'
  assert_has(model_text("{" .. base .. "}"), "SYMBOLS, CLASSES = 4, 2", "EMPTY = 3 ")
  assert_has(model_text("{" .. base .. ", model = { spare_token = false } }"), "SYMBOLS, CLASSES = 3, 2", "EMPTY = 2 ")
  local computing = model_text('{ task = { kind = "reverse_string", computation = 3 }, encoding = {} }')
  assert_has(computing, "SYMBOLS, CLASSES = 4, 2", "COMPUTATION = 2 ", "EMPTY = 3 ", "(batch, 3 * count), COMPUTATION")
  assert_has(model_text('{ task = { kind = "reverse_string", computation = 1 }, encoding = {} }'),
    "(batch, count), COMPUTATION", "a computation token for each")
end

-- ---- networks ----

local function model_of(fields, encoding)
  return model_text(('{ task = { kind = "reverse_string" }, encoding = { %s }, model = { %s } }'):format(
    encoding or "", fields))
end

function TestPytorch.test_every_field_of_a_model_is_there()
  local plain = model_of("")
  assert_has(plain, "return self.norm2(h + self.dropout(self.feedforward(h)))", "self.norm1 = nn.LayerNorm(WIDTH)",
    "self.query = nn.Linear(WIDTH, WIDTH, bias=False)", "self.up = nn.Linear(WIDTH, FEEDFORWARD)\n",
    "F.relu(self.up(h))", "class Encoder(nn.Module)", "self.output(h)")
  assert_lacks(plain, "RMSNorm", "decode", "self.norm =", "name_in_file", "IN_FILE", "FIRST_OUTPUT")
  local pre = model_of('norm = { kind = "rms", place = "pre" }, dropout = 0, activation = "swiglu", bias = "none"')
  assert_has(pre, "h = h + self.attention(self.norm1(h))\n", "return h + self.feedforward(self.norm2(h))\n",
    "return self.output(self.norm(h))", "nn.RMSNorm(WIDTH, eps=1e-5)", "isinstance(module, nn.RMSNorm)",
    "self.down(F.silu(self.gate(h)) * self.up(h))", "self.up = nn.Linear(WIDTH, FEEDFORWARD, bias=False)")
  assert_lacks(pre, "Dropout", "LayerNorm")
  local biased = model_of('bias = "all", activation = "gelu_tanh"')
  assert_has(biased, "self.value = nn.Linear(WIDTH, WIDTH)\n", 'F.gelu(self.up(h), approximate="tanh")')
  assert_has(model_of('activation = "geglu"'), "F.gelu(self.gate(h)) * self.up(h)")
  assert_has(model_of('activation = "silu"'), "F.silu(self.up(h))")
end

function TestPytorch.test_a_decoder_reads_its_target()
  local text = model_of('kind = "decoder"', 'kind = "rope", ' .. RANDOM:format('draw = "pass"'))
  assert_has(text, "class Decoder(nn.Module)", "FIRST_OUTPUT = 2 ", "SEPARATOR = 4 ", "return offset > 0",
    "[inputs, separator, FIRST_OUTPUT + target[:, :-1]]", "def decode(model, inputs, outputs, positions=None):",
    "model(with_target(inputs, target), positions)[:, t - outputs]", '[example["output"]]')
  assert_lacks(text, "EMPTY", "with_outputs", "COMPUTATION")
  assert_has(model_of('kind = "decoder", tied = true'),
    'return F.linear(h, self.embed["token"].weight[FIRST_OUTPUT:FIRST_OUTPUT + CLASSES])')
  local pauses = model_text('{ task = { kind = "reverse_string", computation = 2 }, encoding = {}, '
    .. 'model = { kind = "decoder" } }')
  assert_has(pauses, "torch.full((len(inputs), 2 * inputs.shape[1]), COMPUTATION)",
    "    inputs = torch.cat([inputs, room], dim=1)\n")
end

local GOLDEN = "tests/golden/export/"

-- The text is the golden's but for the digest.
function TestPytorch.test_networks_are_the_golden_ones()
  local large = support.write("decoder.lua", [[return { task = { kind = "reverse_string" },
    encoding = { kind = "rope" },
    model = { kind = "decoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0, tied = true,
      norm = { kind = "rms", place = "pre" }, activation = "swiglu", bias = "none" } }]])
  for name, path in pairs({ decoder = large, own_network = "examples/own_network/own_network.lua" }) do
    local of = assert(project:plan(path))
    local text = rendered(pytorch.facts(of, RUN, project:network(of))):gsub("plan %x+,", "plan DIGEST,")
    if os.getenv("LH_UPDATE_GOLDEN") then
      local file = assert(io.open(GOLDEN .. name .. ".py", "wb"))
      file:write(text)
      file:close()
    end
    lu.assertEquals(text, support.read(GOLDEN .. name .. ".py"), name)
  end
end

-- What is exported of a description; families: besides "self", by name.
local function described(describe, encoding, families, more)
  local of = planned(('{ task = { kind = "reverse_string" }, encoding = { %s }, %s }'):format(encoding or "",
    more or ""))
  local plan = of.plan
  local net = builder.build(describe, { model = { width = plan.width }, tokens = { count = 4, text = "TOKENS" },
    classes = { count = 2, padded = { count = 16, text = "CLASS_COLUMNS" } }, additive = plan.additive,
    families = setmetatable(families and families(plan.attentions[1]) or {},
      { __index = { self = plan.attentions[1] } }) })
  plan.tensors = parameters.derive(net).tensors
  return pytorch.facts(of, RUN, net)
end

-- A network of one block; f gets the block, its input, and the network and its embedding.
local function in_block(f, options)
  return function(net)
    local x = net:embed("embedding", net:stream("source"), { scale = 2 })
    local b = net:block("half", 2, "A block.", options)
    f(b, b:input(x), net, x)
    net:classify(net:readout(b.result, "last"))
  end
end

-- The lines of its forward pass.
local function pass_of(f)
  local facts = assert(described(in_block(f)))
  return facts.list[#facts.list].lines
end

function TestPytorch.test_what_is_read_twice_has_a_name()
  lu.assertEquals(pass_of(function(b, h)
    local s = b:add(h, b:product("map", b:norm("first", h), 64))
    b:output(b:add(s, b:activation("bent", b:norm("second", s, "rms"), "gelu"), 0.1))
  end), { "h = h + self.map(self.first(h))", "return h + self.dropout(F.gelu(self.second(h)))" })
  lu.assertEquals(pass_of(function(b, h)
    local n = b:norm("first", h)
    local s = b:add(b:product("map", n, 64), b:product("way", n, 64))
    b:output(b:add(h, s))
  end), { "first = self.first(h)", "return h + (self.map(first) + self.way(first))" })
end

function TestPytorch.test_products_side_by_side()
  lu.assertEquals(pass_of(function(b, h)
    b:output(b:add(h, b:gate("gated", b:product("wide", h, 64, { tensors = { "gate", "up" } }), "gelu")))
  end), { "return h + F.gelu(self.gate(h)) * self.up(h)" })
  lu.assertEquals(pass_of(function(b, h)
    local wide = b:product("wide", h, 64, { tensors = { "gate", "up" } })
    b:output(b:add(h, b:gate("gated", b:activation("bent", wide, "relu"), "silu")))
  end), { "bent = F.relu(torch.cat([self.gate(h), self.up(h)], dim=-1))",
    "return h + F.silu(bent[..., :WIDTH]) * bent[..., WIDTH:]" })
end

function TestPytorch.test_long_lines_are_cut()
  local long = ("a"):rep(32)
  local lines = pass_of(function(b, h)
    local s = h
    for i = 1, 4 do
      s = b:add(s, b:product("map" .. i .. long, b:norm("norm" .. i .. long, s), 64))
    end
    local parts = {}
    for i = 1, 6 do
      parts[i] = "part" .. i .. long
    end
    local wide = b:product("wide", s, 64, { tensors = parts })
    b:output(b:product("out", wide, 64))
  end)
  lu.assertEquals(lines[2], ("h = h + self.map2%s(self.norm2%s(h))"):format(long, long))
  for _, line in ipairs(lines) do
    lu.assertTrue(#line <= 112, line)
  end
  local text = table.concat(lines, " "):gsub(" +", " ")
  lu.assertStrContains(text, ("self.part1%s(h), self.part2%s(h), "):format(long, long))
end

-- A block that reads what is around it, and a value that is read behind the block as well.
function TestPytorch.test_blocks_and_what_is_around_them()
  local facts = described(function(net)
    local x = net:embed("embedding", net:stream("source"), { scale = 2, dropout = 0.2 })
    local b = net:block("half", 2, "A block.")
    local h = b:input(x)
    b:output(b:add(b:norm("first", h), b:external(x), 0.1))
    net:classify(net:readout(net:add(b.result, x, 0.1), "last"))
  end)
  local half = facts.list[1]
  lu.assertEquals({ half.name, half.arguments, half.lines }, { "Half", "h, embedding",
    { "return self.first(h) + self.dropout(embedding)" } })
  lu.assertEquals(facts.network.lines, { 'embedding = self.embedding_dropout(self.embed["token"](tokens) * 2)',
    "h = embedding", "for half in self.halfs:", "    h = half(h, embedding)",
    "return self.output(h + self.branch_dropout(embedding))" })
  lu.assertFalse(facts.math)
end

function TestPytorch.test_blocks_that_are_done_again()
  local function again(b, h)
    b:output(b:add(h, b:attention("self", h, h)))
  end
  lu.assertEquals(assert(described(in_block(again, { loops = 3 }), 'kind = "rope"')).network.lines, {
    'h = self.embed["token"](tokens) * 2', "for _ in range(3):", "    for half in self.halfs:",
    "        h = half(h, place)", "return self.output(h)" })
  local _, problem = described(in_block(again, { loops = 3 }), 'kind = "rope", ' .. RANDOM:format('draw = "layer"'))
  lu.assertEquals(problem, "does not know draws for each layer in block half, which is done 3 times over")
end

-- Names that Python or PyTorch needs, and modules in a folder of the same name.
function TestPytorch.test_names_that_are_taken()
  local facts = described(in_block(function(b, h)
    local s = b:product("lambda", b:product("train", h, 64), 64)
    local think = b:product("think", b:add(s, b:activation("len", s, "relu")), 64)
    local thought = b:feedforward(think, { hidden = 32, activation = "relu", name = "think" })
    b:output(b:add(b:add(h, think), thought))
  end))
  local text = rendered(facts)
  assert_has(text, "self.train_ = nn.Linear(", "self.lambda_ = nn.Linear(", "self.think_ = Think()",
    "    lambda_ = self.lambda_(self.train_(h))", '    "train_": "train",\n', '    "think_": "think",\n',
    'value = stored[f"{name_in_file(owner)}.{name}"]')
  assert_lacks(text, '"up', "IN_NORMS", "import math")
end

-- Families of one network: what one has otherwise than those before it has its name.
function TestPytorch.test_attentions_of_several_families()
  local function two(net)
    local x = net:embed("embedding", net:stream("source"))
    for i, name in ipairs({ "self", "other", "same" }) do
      local b = net:block("half" .. i, 1, "A block.")
      local h = b:input(x)
      b:output(b:add(h, b:attention(name, h, h, { bias = name == "other" })))
      x = b.result
    end
    net:classify(net:readout(x, "last"))
  end
  local function families(own, change)
    local function family(fields)
      return setmetatable(fields, { __index = own })
    end
    return { same = family({ name = "same", prefix = "same_" }), other = family({ name = "other", prefix = "other_",
      rotation = change and own.rotation or { kind = "rope", base = 50.0, scaling = { kind = "none" } },
      mask = { kind = "causal", right = 0 }, heads = change,
      head_width = change and own.heads * own.head_width // change }) }
  end
  local text = rendered(described(two, 'kind = "rope"', families))
  assert_has(text, "def rotate(", "def hidden(", "class Attention(", "class OtherAttention(",
    "masked_fill(hidden(h.shape[1])",
    "def other_attention_rotate(", "query, key = rotate(query, positions)",
    "query, key = other_attention_rotate(query, positions)", "self.attention = OtherAttention()")
  assert_lacks(text, "other_attention_hidden", "class SameAttention", "same_attention")
  local _, problem = described(two, 'kind = "rope"', function(own)
    return families(own, 4)
  end)
  lu.assertEquals(problem, "does not know heads of attention other that are not those of self")
end

-- Queries of one stream, keys of another.
local function looks_across(net)
  local source, target, tokens = net:stream("source"), net:stream("target"), net:table("token")
  local memory = net:embed("memory", source, { table = tokens, place = net.additive })
  local x = net:embed("embedding", target, { table = tokens, place = net.additive })
  local b = net:block("layer", 2, "A block.", { path = "decoder.layers.%d." })
  local h = b:input(x)
  local s = b:norm("norm1", b:add(h, b:attention("self", h, h)))
  b:output(b:add(s, b:attention("cross", s, b:external(memory))))
  net:classify(net:readout(b.result, "last"), { tied = tokens })
end

local function with_cross(own)
  return { cross = setmetatable({ crosses = true, cross = true, name = "cross", prefix = "cross_",
    mask = own.relative.kind == "none" and { kind = "none" } or nil }, { __index = own }) }
end

local DECODER = 'model = { kind = "decoder" }'

function TestPytorch.test_two_streams()
  local text = rendered(described(looks_across, 'kind = "rope", additive = { kind = "sinusoid" }', with_cross, DECODER))
  assert_has(text, "    def forward(self, source, target):", "of source [B][S] and target [B][T].",
    "        source_place = torch.arange(source.shape[1])\n        target_place = torch.arange(target.shape[1])\n",
    '        memory = self.embed["token"](source) + sinusoid(source_place)\n',
    '        h = self.embed["token"](target) + sinusoid(target_place)\n',
    '        for layer in self.decoder["layers"]:\n            h = layer(h, memory, target_place, source_place)\n',
    "    def forward(self, h, memory, positions, memory_positions):",
    "h = self.norm1(h + self.attention(h, positions))\n",
    "return h + self.cross_attention(h, memory, positions, memory_positions)\n", "self.key(memory), self.value(memory)",
    "rotate(query, positions), rotate(key, memory_positions)", "    return inputs, torch.cat([separator, ",
    "model(*with_target(inputs, target))", "found = model(*tokens)[0")
end

local function unknown_of(describe, ...)
  local facts, problem = described(describe, ...)
  lu.assertNil(facts)
  return problem
end

function TestPytorch.test_networks_that_python_cannot_say_are_named()
  ops.recur = ops.activation -- an operation of tomorrow
  local recurs = unknown_of(in_block(function(b, h)
    local y = b:activation("bent", h, "relu")
    y.op.kind = "recur"
    b:output(b:norm("first", y))
  end))
  ops.recur = nil
  lu.assertEquals(recurs, "does not know the operation recur (bent) of block half")
  lu.assertEquals(unknown_of(in_block(function(b, h)
    local y = b:activation("bent", h, "relu")
    y.op.temperature = 2
    b:output(b:norm("first", y))
  end)), "does not know temperature of the operation activation (bent) of block half")
  lu.assertEquals(unknown_of(looks_across, nil, with_cross),
    "does not know the stream target of the network beside source")
  lu.assertEquals(unknown_of(looks_across, 'kind = "rope", ' .. RANDOM:format('draw = "pass"'), with_cross, DECODER),
    "does not know positions that are drawn, of two streams")
  lu.assertEquals(unknown_of(looks_across, 'relative = { kind = "shaw", clip = 2 }', with_cross, DECODER),
    "does not know the mask of attention cross, which is between two streams")
end

-- ---- what models are compared at ----

local function plan(fields)
  return setmetatable(fields, { __index = { limit = false, task = {}, position_range = 0, distance_range = 0,
    first_position = 0, computation = false } })
end

-- Distinct, ascending, inside, up to the most that fit.
local function assert_draws(list, count, first, beyond)
  lu.assertEquals(#list, count)
  for i, value in ipairs(list) do
    lu.assertTrue(value >= first and value < beyond and (i == 1 or value > list[i - 1]))
  end
end

function TestPytorch.test_requests_have_every_draw()
  for _, count in ipairs({ 2, 7, 16 }) do
    local input = {}
    for i = 1, count - 1 do
      input[i] = 0
    end
    local got = examples.request(plan({ position_range = 16, distance_range = 16 }), input, 1)
    assert_draws(got.positions, count, 0, 16)
    assert_draws(got.distances, count, 0, 16)
    lu.assertEquals(got.distances[1], 0)
  end
  local one = examples.request(plan({ position_range = 17, distance_range = 17, first_position = 1 }), { 0, 1 }, 14)
  assert_draws(one.positions, 16, 1, 17)
  assert_draws(one.distances, 16, 0, 17)
  local computing = plan({ position_range = 16, computation = { all = 4 } })
  assert_draws(examples.request(computing, { 0, 1 }, 3).positions, 11, 0, 16)
  lu.assertEquals(examples.request(plan({}), { 1, 0 }, 2), { input = { 1, 0 } })
  lu.assertNil(examples.request(plan({ limit = { tokens = 3 } }), { 1, 0 }, 2))
end

function TestPytorch.test_lengths_reach_past_training()
  lu.assertEquals(examples.lengths({ train = { lengths = { first = 1, last = 40, step = 1 } } }), { 1, 40, 80 })
  lu.assertEquals(examples.lengths({ train = { lengths = { list = { 3, 5 } } } }), { 3, 5, 10 })
  lu.assertEquals(examples.lengths({ train = { lengths = { first = 7, last = 7, step = 1 } } }), { 7, 14 })
end

os.exit(lu.LuaUnit.run())
