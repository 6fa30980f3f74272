-- Networks in `export pytorch`: fields of a model, forward passes of descriptions, names, families, random networks.

local support = dofile("tests/lua/support.lua")
package.path = "tests/support/?.lua;" .. package.path

local random_specs = require("random_specs") -- changes a module that the following modules load
local builder = require("network.graph.builder")
local exports = require("exports")
local lu = require("luaunit")
local ops = require("network.graph.ops")
local parameters = require("network.graph.parameters")
local pytorch = require("lab.export.pytorch")

local assert_has, assert_lacks, render_spec = exports.assert_has, exports.assert_lacks, exports.render_spec
local plan_text, project, render = exports.plan_text, exports.project, exports.render
local RANDOM, RUN = exports.RANDOM, exports.RUN

TestNetworks = { tearDown = support.clean }

local function render_model(fields, encoding)
  return render_spec(('{ task = { kind = "reverse_string" }, encoding = { %s }, model = { %s } }'):format(
    encoding or "", fields))
end

function TestNetworks.test_every_field_of_a_model_is_exported()
  local plain_text = render_model("")
  assert_has(plain_text, "return self.norm2(h + self.dropout(self.feedforward(h)))", "self.norm1 = nn.LayerNorm(WIDTH)",
    "self.query = nn.Linear(WIDTH, WIDTH, bias=False)", "self.up = nn.Linear(WIDTH, FEEDFORWARD)\n",
    "F.relu(self.up(h))", "class Encoder(nn.Module)", "self.output(h)")
  assert_lacks(plain_text, "RMSNorm", "decode", "self.norm =", "name_in_file", "IN_FILE", "FIRST_OUTPUT")
  local pre = render_model('norm = { kind = "rms", place = "pre" }, dropout = 0, activation = "swiglu", bias = "none"')
  assert_has(pre, "h = h + self.attention(self.norm1(h))\n", "return h + self.feedforward(self.norm2(h))\n",
    "return self.output(self.norm(h))", "nn.RMSNorm(WIDTH, eps=1e-5)", "isinstance(module, nn.RMSNorm)",
    "self.down(F.silu(self.gate(h)) * self.up(h))", "self.up = nn.Linear(WIDTH, FEEDFORWARD, bias=False)")
  assert_lacks(pre, "Dropout", "LayerNorm")
  local biased_text = render_model('bias = "all", activation = "gelu_tanh"')
  assert_has(biased_text, "self.value = nn.Linear(WIDTH, WIDTH)\n", 'F.gelu(self.up(h), approximate="tanh")')
  assert_has(render_model('activation = "geglu"'), "F.gelu(self.gate(h)) * self.up(h)")
  assert_has(render_model('activation = "silu"'), "F.silu(self.up(h))")
end

function TestNetworks.test_every_dropout_is_exported()
  local text = render_model('dropout = 0.1, attention_dropout = 0.2, hidden_dropout = 0.3, embedding_dropout = 0.4')
  assert_has(text, "        self.dropout = nn.Dropout(0.2)\n",
    "mixed = self.dropout(score.softmax(dim=-1)) @ value", "return self.down(self.dropout(F.relu(self.up(h))))",
    "self.dropout = nn.Dropout(0.3)", "h = self.norm1(h + self.dropout(self.attention(h)))",
    "self.dropout = nn.Dropout(0.1)", 'h = self.dropout(self.embed["token"](tokens) * math.sqrt(WIDTH))',
    "self.dropout = nn.Dropout(0.4)")
  assert_lacks(text, "branch_dropout", "hidden_dropout")
  assert_has(render_model('hidden_dropout = 0.3, activation = "swiglu"'),
    "self.down(self.dropout(F.silu(self.gate(h)) * self.up(h)))")
end

function TestNetworks.test_a_decoder_reads_its_target()
  local text = render_model('kind = "decoder"', 'kind = "rope", ' .. RANDOM:format('draw = "pass"'))
  assert_has(text, "class Decoder(nn.Module)", "FIRST_OUTPUT = 2 ", "SEPARATOR = 4 ", "return offset > 0",
    "[inputs, separator, FIRST_OUTPUT + target[:, :-1]]", "def decode(model, inputs, outputs, positions=None):",
    "model(with_target(inputs, target), positions)[:, t - outputs]", '[example["output"]]')
  assert_lacks(text, "EMPTY", "with_outputs", "COMPUTATION")
  assert_has(render_model('kind = "decoder", tied = true'),
    'return F.linear(h, self.embed["token"].weight[FIRST_OUTPUT:FIRST_OUTPUT + CLASSES])')
  local pauses = render_spec('{ task = { kind = "reverse_string", computation = 2 }, encoding = {}, '
    .. 'model = { kind = "decoder" } }')
  assert_has(pauses, "inputs.new_full((len(inputs), 2 * inputs.shape[1]), COMPUTATION)",
    "    inputs = torch.cat([inputs, computation], dim=1)\n")
end

local GOLDEN = "tests/golden/export/"

-- The digest of the plan is replaced, since unrelated changes change it.
function TestNetworks.test_networks_are_the_golden_ones()
  local large = support.write("decoder.lua", [[return { task = { kind = "reverse_string" },
    encoding = { kind = "rope" },
    model = { kind = "decoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0, tied = true,
      norm = { kind = "rms", place = "pre" }, activation = "swiglu", bias = "none" } }]])
  for name, path in pairs({ decoder = large, own_network = "examples/own_network/own_network.lua" }) do
    local result = assert(project:plan(path))
    local facts = pytorch.derive_facts(result, RUN, project:build_network(result))
    local text = render(facts):gsub("plan %x+,", "plan DIGEST,")
    support.assert_golden(GOLDEN .. name .. ".py", text)
  end
end

-- Returns the facts of model.py for a network, or nil and the problem. describe: describes the network; encoding,
-- more_fields: texts of fields of the encoding and of the spec; families(self): returns the families in addition to
-- "self", by name; change(result): changes the planned spec first.
local function derive_facts(describe, encoding, families, more_fields, change)
  local result = plan_text(('{ task = { kind = "reverse_string" }, encoding = { %s }, %s }'):format(encoding or "",
    more_fields or ""))
  local plan = result.plan
  local net = builder.build(describe, { model = { width = plan.width }, tokens = { count = 4, text = "TOKENS" },
    classes = { count = 2, padded = { count = 16, text = "CLASS_COLUMNS" } }, additive = plan.additive,
    families = setmetatable(families and families(plan.attentions[1]) or {},
      { __index = { self = plan.attentions[1] } }) })
  plan.tensors = parameters.derive(net).tensors
  if change then
    change(result)
  end
  return pytorch.derive_facts(result, RUN, net)
end

-- Returns a description with one block. f(block, input of the block, network, embedding) describes the block.
local function describe_block(f, options)
  return function(net)
    local x = net:embed("embedding", net:stream("source"), { scale = 2 })
    local b = net:block("half", 2, "A block.", options)
    f(b, b:input(x), net, x)
    net:classify(net:readout(b.result, "last"))
  end
end

-- Returns the lines of the block's forward pass. f: see describe_block.
local function list_forward_lines(f)
  local facts = assert(derive_facts(describe_block(f)))
  return facts.list[#facts.list].lines
end

function TestNetworks.test_values_read_twice_have_a_name()
  lu.assertEquals(list_forward_lines(function(b, h)
    local s = b:add(h, b:product("map", b:norm("first", h), 64))
    b:output(b:add(s, b:activation("bent", b:norm("second", s, "rms"), "gelu"), 0.1))
  end), { "h = h + self.map(self.first(h))", "return h + self.dropout(F.gelu(self.second(h)))" })
  lu.assertEquals(list_forward_lines(function(b, h)
    local n = b:norm("first", h)
    local s = b:add(b:product("map", n, 64), b:product("way", n, 64))
    b:output(b:add(h, s))
  end), { "first = self.first(h)", "return h + (self.map(first) + self.way(first))" })
end

function TestNetworks.test_products_side_by_side()
  lu.assertEquals(list_forward_lines(function(b, h)
    b:output(b:add(h, b:gate("gated", b:product("wide", h, 64, { tensors = { "gate", "up" } }), "gelu")))
  end), { "return h + F.gelu(self.gate(h)) * self.up(h)" })
  lu.assertEquals(list_forward_lines(function(b, h)
    local gate_input = b:product("wide", h, 64, { tensors = { "gate", "up" } })
    b:output(b:add(h, b:gate("gated", b:activation("bent", gate_input, "relu"), "silu")))
  end), { "bent = F.relu(torch.cat([self.gate(h), self.up(h)], dim=-1))",
    "return h + F.silu(bent[..., :WIDTH]) * bent[..., WIDTH:]" })
end

function TestNetworks.test_long_lines_are_split()
  local long_name = ("a"):rep(32)
  local lines = list_forward_lines(function(b, h)
    local s = h
    for i = 1, 4 do
      s = b:add(s, b:product("map" .. i .. long_name, b:norm("norm" .. i .. long_name, s), 64))
    end
    local parts = {}
    for i = 1, 6 do
      parts[i] = "part" .. i .. long_name
    end
    local wide = b:product("wide", s, 64, { tensors = parts })
    b:output(b:product("out", wide, 64))
  end)
  lu.assertEquals(lines[2], ("h = h + self.map2%s(self.norm2%s(h))"):format(long_name, long_name))
  for _, line in ipairs(lines) do
    lu.assertTrue(#line <= 112, line)
  end
  local text = table.concat(lines, " "):gsub(" +", " ")
  lu.assertStrContains(text, ("self.part1%s(h), self.part2%s(h), "):format(long_name, long_name))
end

-- A block may read values from outside of it, and such a value may also be read after the block.
function TestNetworks.test_blocks_and_surrounding_values()
  local facts = derive_facts(function(net)
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

-- A value that every repetition reads is not overwritten, even if it is also the block's first input.
function TestNetworks.test_a_block_that_reads_its_first_input()
  local facts = derive_facts(describe_block(function(b, h, _, x)
    b:output(b:add(b:norm("first", h), b:external(x)))
  end))
  lu.assertEquals(facts.network.lines, { 'embedding = self.embed["token"](tokens) * 2', "h = embedding",
    "for half in self.halfs:", "    h = half(h, embedding)", "return self.output(h)" })
  facts = derive_facts(function(net)
    local x = net:embed("embedding", net:stream("source"))
    for _, name in ipairs({ "first", "second" }) do
      local b = net:block(name, 1, "A block.")
      local outside = name == "second" and b:external(x)
      local h = b:input(x)
      b:output(b:add(b:norm("norm", h), outside or h))
      x = b.result
    end
    net:classify(net:readout(x, "last"))
  end)
  lu.assertEquals(facts.network.lines, { 'h = self.embed["token"](tokens)', "for first in self.firsts:",
    "    h = first(h)", "second_output = h", "for second in self.seconds:",
    "    second_output = second(second_output, h)", "return self.output(second_output)" })
end

-- A block's input, `product`, is read again after the block; each repetition also reads the result of `before`.
function TestNetworks.test_a_block_that_reads_another_stream()
  local facts = derive_facts(function(net)
    local first_block = net:block("before", 1, "A block.")
    first_block:output(first_block:norm("norm", first_block:input(net:embed("embedding", net:stream("source")))))
    local product = net:product("other", first_block.result, 64)
    local b = net:block("half", 2, "A block.")
    local outside, h = b:external(first_block.result), b:input(product)
    b:output(b:add(b:norm("norm", h), outside))
    net:classify(net:readout(net:add(b.result, product), "last"))
  end)
  lu.assertEquals(facts.network.lines, { 'h = self.embed["token"](tokens)', "for before in self.befores:",
    "    h = before(h)", "other = self.other(h)", "half_output = other", "for half in self.halfs:",
    "    half_output = half(half_output, h)", "return self.output(half_output + other)" })
end

-- The comment of a block becomes a docstring, for any content.
function TestNetworks.test_comments_of_blocks()
  local text = render(derive_facts(function(net)
    local b = net:block("half", 1, [[a "block" of C:\new"]])
    b:output(b:norm("first", b:input(net:embed("embedding", net:stream("source")))))
    net:classify(net:readout(b.result, "last"))
  end))
  assert_has(text, [[    """a 'block' of C:/new'"""]])
end

function TestNetworks.test_repeated_blocks()
  local function repeat_attention(b, h)
    b:output(b:add(h, b:attention("self", h, h)))
  end
  local facts = assert(derive_facts(describe_block(repeat_attention, { loops = 3 }), 'kind = "rope"'))
  lu.assertEquals(facts.network.lines, {
    'h = self.embed["token"](tokens) * 2', "for _ in range(3):", "    for half in self.halfs:",
    "        h = half(h, place)", "return self.output(h)" })
  local _, problem = derive_facts(describe_block(repeat_attention, { loops = 3 }),
    'kind = "rope", ' .. RANDOM:format('draw = "layer"'))
  lu.assertEquals(problem, "does not know samples for each layer in block half, which runs several times")
end

-- Names that Python or PyTorch reserves, and a feed-forward layer with the name of a product, `think`.
function TestNetworks.test_reserved_names()
  local facts = derive_facts(describe_block(function(b, h)
    local s = b:product("lambda", b:product("train", h, 64), 64)
    local think = b:product("think", b:add(s, b:activation("len", s, "relu")), 64)
    local thought = b:feedforward(think, { hidden = 32, activation = "relu", name = "think" })
    b:output(b:add(b:add(h, think), thought))
  end))
  local text = render(facts)
  assert_has(text, "self.train_ = nn.Linear(", "self.lambda_ = nn.Linear(", "self.think_ = Think()",
    "    lambda_ = self.lambda_(self.train_(h))", '    "train_": "train",\n', '    "think_": "think",\n',
    'yield f"{name_in_file(owner)}.{name}", parameter, ')
  assert_lacks(text, '"up', "IN_NORMS", "import math")
  for name, class in pairs({ none = "NoneBlock", f = "FBlock", encoder = "EncoderBlock", half_way = "HalfWay" }) do
    local block = derive_facts(function(net)
      local b = net:block(name, 1, "A block.")
      b:output(b:norm("first", b:input(net:embed("embedding", net:stream("source")))))
      net:classify(net:readout(b.result, "last"))
    end)
    lu.assertEquals(block.list[1].name, class)
  end
end

-- Returns a description with one attention of each family, each in a block of its own; biased_family: the family whose
-- projections have biases, or nil.
local function describe_attentions(families, biased_family)
  return function(net)
    local x = net:embed("embedding", net:stream("source"))
    for i, name in ipairs(families) do
      local b = net:block("half" .. i, 1, "A block.")
      local h = b:input(x)
      b:output(b:add(h, b:attention(name, h, h, { bias = name == biased_family })))
      x = b.result
    end
    net:classify(net:readout(x, "last"))
  end
end

-- If a facet of a family differs from the same facet of all earlier families, its functions have the family's name.
function TestNetworks.test_attentions_of_several_families()
  local function make_families(family, heads)
    local function make_family(fields)
      return setmetatable(fields, { __index = family })
    end
    return { same = make_family({ name = "same", prefix = "same_" }),
      other = make_family({ name = "other", prefix = "other_",
      rotation = heads and family.rotation or { kind = "rope", base = 50.0, scaling = { kind = "none" } },
      mask = { kind = "causal", right = 0 }, heads = heads,
      head_width = heads and family.heads * family.head_width // heads }) }
  end
  local describe_three = describe_attentions({ "self", "other", "same" }, "other")
  local text = render(derive_facts(describe_three, 'kind = "rope"', make_families))
  assert_has(text, "def rotate(", "def hidden(", "class Attention(", "class OtherAttention(",
    "masked_fill(hidden(score)",
    "def other_attention_rotate(", "query, key = rotate(query, positions)",
    "query, key = other_attention_rotate(query, positions)", "self.attention = OtherAttention()")
  assert_lacks(text, "other_attention_hidden", "class SameAttention", "same_attention")
  local _, problem = derive_facts(describe_three, 'kind = "rope"', function(family)
    return make_families(family, 4)
  end)
  lu.assertEquals(problem, "does not know attentions with different heads: self and other")
end

-- A description whose cross-attention has queries of the target and keys of the source.
local function describe_two_streams(net)
  local source, target, tokens = net:stream("source"), net:stream("target"), net:table("token")
  local memory = net:embed("memory", source, { table = tokens, place = net.additive })
  local x = net:embed("embedding", target, { table = tokens, place = net.additive })
  local b = net:block("layer", 2, "A block.", { path = "decoder.layers.%d." })
  local h = b:input(x)
  local s = b:norm("norm1", b:add(h, b:attention("self", h, h)))
  b:output(b:add(s, b:attention("cross", s, b:external(memory))))
  net:classify(net:readout(b.result, "last"), { tied = tokens })
end

local function make_cross(family)
  return { cross = setmetatable({ cross = true, name = "cross", prefix = "cross_",
    mask = family.relative.kind == "none" and { kind = "none" } or nil }, { __index = family }) }
end

local DECODER = 'model = { kind = "decoder" }'

function TestNetworks.test_two_streams()
  local text = render(derive_facts(describe_two_streams, 'kind = "rope", additive = { kind = "sinusoid" }', make_cross,
    DECODER))
  assert_has(text, "    def forward(self, source, target):", "of source [B][S] and target [B][T].",
    "        source_place = torch.arange(source.shape[1], device=source.device)\n"
    .. "        target_place = torch.arange(target.shape[1], device=target.device)\n",
    '        memory = self.embed["token"](source) + sinusoid(source_place, self.embed["token"].weight)\n',
    '        h = self.embed["token"](target) + sinusoid(target_place, self.embed["token"].weight)\n',
    '        for layer in self.decoder["layers"]:\n            h = layer(h, memory, target_place, source_place)\n',
    "    def forward(self, h, memory, positions, memory_positions):",
    "h = self.norm1(h + self.attention(h, positions))\n",
    "return h + self.cross_attention(h, memory, positions, memory_positions)\n", "self.key(memory), self.value(memory)",
    "rotate(query, positions), rotate(key, memory_positions)", "    return inputs, torch.cat([separator, ",
    "model(*with_target(inputs, target))", "return model(*tokens)[0")
end

-- Attentions with equal formulas share one function.
function TestNetworks.test_scores_of_several_families()
  local function make_families(family)
    return { other = setmetatable({ name = "other", spec_name = "other", prefix = "other_" },
      { __index = family }) }
  end
  local function derive_with(score)
    return derive_facts(describe_attentions({ "self", "other" }), 'kind = "alibi"', make_families, nil, function(result)
      result.score = { families = { self = result.score, other = score and plan_text(
        ('{ task = { kind = "reverse_string" }, encoding = { kind = %q } }'):format(score)).score } }
    end)
  end
  local text = render(derive_with("alibi"))
  assert_has(text, "def change_score(", "class Attention(", "self.attention = Attention()")
  assert_lacks(text, "OtherAttention")
  local different_text = render(derive_with("fire"))
  assert_has(different_text, "def change_score(score, distance):", "def other_attention_change_score(score, ",
    "score = other_attention_change_score(score, ", '    "slope": torch.tensor([')
end

-- The exported file has one constant for each name, so two attentions cannot have different values of `a`.
function TestNetworks.test_constants_of_several_families()
  local function trace_score(value)
    return plan_text(([[{ task = { kind = "reverse_string" }, encoding = { score = function(x)
      return x.score + lookup(x.a, mod(x.key, 2)) end, parameters = { a = { shape = 2, values = { 1, %d } } } } }]])
      :format(value)).score
  end
  local function make_families(family)
    family.score = { kind = "plain" }
    return { other = setmetatable({ name = "other", spec_name = "other", prefix = "other_" },
      { __index = family }) }
  end
  local function derive_with(value)
    return derive_facts(describe_attentions({ "self", "other" }), "", make_families, nil, function(result)
      result.score = { families = { self = trace_score(2), other = trace_score(value) } }
    end)
  end
  lu.assertNotNil(derive_with(2))
  local _, problem = derive_with(3)
  lu.assertEquals(problem, "does not know scores with different values of a (attention other)")
end

-- Distances, masks and scores with queries and keys from two streams.
function TestNetworks.test_pairs_of_two_streams()
  local text = render(derive_facts(describe_two_streams, [[relative = { kind = "shaw", clip = 2 },
    score = function(x) return x.score + x.key - x.query_length + x.distance end]], make_cross, DECODER))
  assert_has(text, "    def forward(self, h, distance):", "    def forward(self, h, memory, memory_distance):",
    "        target_distance = target_place - target_place[:, None]\n",
    "        target_memory_distance = source_place - target_place[:, None]\n",
    "layer(h, memory, target_distance, target_memory_distance)", "def hidden(score):",
    "def cross_attention_hidden(score):", "    outside = offset > 0\n",
    "cross_attention_hidden(score)", "self.relative(query, key, memory_distance)",
    "score = change_score(score, distance)", "score = cross_attention_change_score(score, memory_distance)",
    "    memory_index = torch.arange(score.shape[-1], device=score.device).to(score)\n"
    .. "    length = score.new_ones(score.shape[-2]).sum()\n")
  assert_lacks(text, "class CrossAttentionRelative")
end

-- A mask for one family is not exported for the others.
function TestNetworks.test_a_family_without_facets_of_the_others()
  local sizes = 'kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 1'
  local call = "cross_attention_hidden(score)"
  assert_has(render_model(sizes, 'mask = { kind = "causal" }, cross = { mask = { kind = "causal" } }'), call)
  local text = render_model(sizes, 'mask = { kind = "causal" }')
  assert_has(text, "hidden(score)", "an encoder-decoder.")
  assert_lacks(text, call)
  assert_has(render_model(sizes, [[normaliser = { kind = "geometric" }, decoder = { normaliser = { kind = "softmax" } },
    cross = { normaliser = { kind = "softmax" } }]]), "match_first(", "softmax(")
end

local function find_problem(describe, ...)
  local facts, problem = derive_facts(describe, ...)
  lu.assertNil(facts)
  return problem
end

function TestNetworks.test_unsupported_networks_are_named()
  ops.recur = ops.activation -- an operation that the export does not know
  local problem = find_problem(describe_block(function(b, h)
    local y = b:activation("bent", h, "relu")
    y.op.kind = "recur"
    b:output(b:norm("first", y))
  end))
  ops.recur = nil
  lu.assertEquals(problem, "does not know the operation recur (bent) of block half")
  lu.assertEquals(find_problem(describe_block(function(b, h)
    local y = b:activation("bent", h, "relu")
    y.op.temperature = 2
    b:output(b:norm("first", y))
  end)), "does not know temperature of the operation activation (bent) of block half")
  lu.assertEquals(find_problem(describe_two_streams, nil, make_cross),
    "does not know a second stream, target besides source, in a network that is no decoder")
  lu.assertEquals(find_problem(describe_two_streams, 'kind = "rope", ' .. RANDOM:format('draw = "pass"'), make_cross,
    DECODER),
    "does not know sampled positions of two streams")
  lu.assertEquals(find_problem(describe_two_streams, nil, function(family)
    local families = make_cross(family)
    families.cross.normaliser = { kind = "geometric", padding = 14 }
    return families
  end, DECODER), "does not know the order of keys of attention cross, which is between two streams")
end

local RANDOM_NETWORKS = 30

-- Every random network gives a file with lines of at most 120 columns. The file uses every module that it makes.
function TestNetworks.test_random_networks()
  for number = 1, RANDOM_NETWORKS do
    local text, description = random_specs.make_text("random_" .. number)
    local path = support.write("random.lua", (text:gsub("dropout = true", "dropout = false")))
    random_specs.call_with_description(assert(load(description))(), function()
      local result = assert(project:plan(path))
      local written = render(pytorch.derive_facts(result, RUN, project:build_network(result)))
      for line in written:gmatch("[^\n]+") do
        lu.assertTrue(#line <= 120, line)
      end
      for class in written:gmatch("class %w+%(nn%.Module%):\n(.-)\n\n\n") do
        for name in class:gmatch("\n        self%.([%w_]+) = ") do
          local _, count = class:gsub("self%." .. name .. "%f[^%w_]", "")
          lu.assertTrue(count > 1, name .. " of " .. class)
        end
      end
    end)
  end
end

os.exit(lu.LuaUnit.run())
