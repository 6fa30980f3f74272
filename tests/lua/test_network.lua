-- generator/network: everything derived from a description, run on numbers (machine.lua) and compared with differences.

local support = dofile("tests/lua/support.lua")

local builder = require("network.graph.builder")
local canonical = require("base.canonical")
local labelled_rows = require("network.lists.labelled_rows")
local derive_lists = require("network.lists.scope_lists").derive
local lu = require("luaunit")
local machine = require("machine")
local networks = require("networks")
local new_random = require("random")
local vocabulary_rows = require("network.lists.vocabulary_rows")

local NETWORKS = tonumber(os.getenv("LH_NETWORKS")) or 100
local STEP, TOLERANCE = 1e-6, 1e-6
local TRIES = 8 -- a difference across the corner of a ReLU is wrong, but rarely in several tries

-- Attentions with heads of 8 channels.
local function families()
  local list = {
    self = {}, sloped = { slope = 0.5 }, causal = { causal = true }, cross = { cross = true },
    directional = { normaliser = { kind = "geometric", directional = true, fill = 13 },
      asks = { name = "direction", constant = "DIRECTION_WIDTH", width = 16, columns = 4, bias = true } },
  }
  for name, family in pairs(list) do
    family.name, family.prefix, family.heads, family.head_width, family.logit_scale = name, name .. "_", 2, 8, 1
    family.normaliser, family.relative = family.normaliser or { kind = "softmax" }, { kind = "none" }
    family.score = {}
  end
  return list
end

local IN_BLOCKS = { kind = "learned", in_blocks = true, rows = 4, dropout_rate = 0.2,
  first = { kind = "normal", value = 1 } }

-- given: families; section: the model's section, with the vectors added to tokens. One of the tokens is blank.
local function build(describe, chunk, given, section)
  section = section or {}
  return builder.build(describe, {
    model = { width = networks.WIDTH, embedding = section.embedding, readout = section.readout },
    tokens = { count = 5, text = "TOKENS" }, inputs = { count = 4, text = "INPUTS" },
    classes = { count = 3, padded = { count = 16, text = "CLASS_COLUMNS" } },
    families = given or families(),
    additive = section.additive or { kind = "sinusoid" },
  }, chunk)
end

local function make_machine(describe, number, section)
  local net = build(describe, nil, nil, section)
  return machine.new(net, new_random(number), net.streams[2] and { 3, 4 } or { 3 })
end

-- A sorted list of { name, values, gradients } of every parameter.
local function list_tensors(m, gradients)
  local list = {}
  for scope, repetitions in pairs(m.values) do
    for i, set in pairs(repetitions) do
      for p, members in pairs(set) do
        for member, values in pairs(members) do
          list[#list + 1] = { ("%s %d %s.%s"):format(scope.name, i, p.name, member), values,
            gradients[scope][i][p][member] }
        end
      end
    end
  end
  table.sort(list, function(a, b)
    return a[1] < b[1]
  end)
  return list
end

-- Whether the change of the loss along a random direction of these tensors agrees with their gradients.
local function agrees(m, tensors, random)
  local moves, expected_derivative = {}, 0
  for i, t in ipairs(tensors) do
    moves[i] = {}
    for k = 1, #t[2] do
      moves[i][k] = random:below(2001) / 1000 - 1.001
      expected_derivative = expected_derivative + moves[i][k] * t[3][k]
    end
  end
  local function move(step)
    for i, t in ipairs(tensors) do
      for k = 1, #t[2] do
        t[2][k] = t[2][k] + step * moves[i][k]
      end
    end
  end
  move(STEP)
  local above = m:loss()
  move(-2 * STEP)
  local numeric = (above - m:loss()) / (2 * STEP)
  move(STEP)
  return math.abs(numeric - expected_derivative) <= TOLERANCE * (1 + math.abs(numeric) + math.abs(above))
end

-- nil, or the tensors whose gradients are wrong in all tries.
local function wrong_gradients(m, number)
  local suspects
  for try = 1, TRIES do
    local random = new_random(number * TRIES + try)
    m:draw(random)
    local tensors, left = list_tensors(m, m:differentiate()), {}
    if agrees(m, tensors, random) then
      return nil
    end
    for _, t in ipairs(tensors) do
      left[t[1]] = not (suspects and not suspects[t[1]]) and not agrees(m, { t }, random) or nil
    end
    suspects = left
    if not next(suspects) then
      return nil
    end
  end
  return table.concat(canonical.sort_keys(suspects), ", ")
end

local function check(name, describe, text, section)
  local ok, wrong = xpcall(function()
    return wrong_gradients(make_machine(describe, 1, section), 1)
  end, function(err)
    return type(err) == "table" and err.what or debug.traceback(err)
  end)
  if not ok or wrong then
    lu.fail(("%s: %s\n%s"):format(name, wrong, text or ""))
  end
end

-- Fields of a model's section in which random networks differ, and positions in blocks.
local SECTIONS = { {}, {}, { embedding = "linear" }, { embedding = "linear", readout = "probe" },
  { additive = IN_BLOCKS }, { embedding = "linear", additive = IN_BLOCKS } }

local function random_network(number)
  local section = SECTIONS[number % #SECTIONS + 1]
  local given = networks.random(number, { streams = number % 3 == 0 and { "source", "target" },
    families = { "self", "sloped", "causal", "directional" }, whole = { directional = true }, model = section,
    places = section.additive ~= nil })
  return assert(load(given.text))(), given.text, section
end

TestNetworks = {}

-- Minimal networks that once gave wrong results. f receives the network and its input's embedding and returns the
-- result.
local function embedded(f)
  return function(net)
    local x = net:embed("embedding", net:stream("source"), { scale = 2, place = net.additive })
    net:classify(net:readout(f(net, x), "last"))
  end
end

local function in_block(count, f)
  return embedded(function(net, x)
    local b = net:block("layer", count, "A block.")
    b:output(f(b, b:input(x), net, x))
    return b.result
  end)
end

local CASES = {
  ["a sum of a value and its product"] = in_block(2, function(b, h)
    return b:add(h, b:product("map", h, networks.WIDTH))
  end),
  ["a sum that is dropped out of another one"] = in_block(1, function(b, h)
    local s = b:add(h, b:norm("norm1", h))
    return b:add(h, s, 0.3)
  end),
  ["a value that two sums drop out"] = in_block(1, function(b, h)
    local f = b:product("map", h, networks.WIDTH)
    return b:add(b:add(h, f, 0.3), f, 0.3)
  end),
  ["what comes from outside is added behind the block, too"] = embedded(function(net, x)
    local b = net:block("layer", 1, "A block.")
    b:output(b:norm("norm1", b:add(b:input(net:norm("norm1", x)), b:external(x))))
    return net:add(b.result, x)
  end),
  ["a result that another block reads from outside"] = embedded(function(net, x)
    local b = net:block("layer", 1, "A block.")
    b:output(b:norm("norm1", b:input(x)))
    local c = net:block("other", 2, "Another.")
    local h = c:input(b.result)
    c:output(c:add(c:norm("norm1", h), c:external(b.result)))
    return c.result
  end),
  ["a name of what comes from outside"] = embedded(function(net, x)
    local b = net:block("layer", 1, "A block.")
    local outside = net:norm("norm1", x)
    local h, inner = b:input(x), b:external(outside)
    local s = b:norm("norm1", h)
    b:output(b:add(b:add(s, b:add(h, s), 0.3), inner))
    return net:add(b.result, outside)
  end),
  ["names of a block around it"] = embedded(function(net, x)
    local stored = net:product("map", x, networks.WIDTH)
    local b = net:block("layer", 2, "A block.")
    local h = b:input(x)
    b:output(b:add(h, b:product("map", h, networks.WIDTH)))
    return net:add(b.result, net:product("late", stored, networks.WIDTH))
  end),
  ["a pre-norm block before one that keeps its input"] = embedded(function(net, x)
    local b = net:block("layer", 2, "A block.")
    local h = b:input(x)
    b:output(b:add(h, b:product("map", b:norm("norm1", h), networks.WIDTH)))
    local c = net:block("other", 1, "Another.")
    h = c:input(b.result)
    c:output(c:norm("norm1", c:add(h, c:product("map", h, networks.WIDTH))))
    return c.result
  end),
  ["blocks of two widths, whose inputs have gradients of their own"] = embedded(function(net, x)
    local function block(name, value)
      local b = net:block(name, 2, "A block.")
      local h = b:input(value)
      local s = b:add(h, b:activation("act", h, "gelu"))
      b:output(b:add(b:product("map", s, value.width.count), h, 0.3))
      return b.result
    end
    local wide = block("other", net:product("wide", block("layer", x), 2 * networks.WIDTH))
    return net:add(x, net:product("narrow", wide, networks.WIDTH))
  end),
  ["two attentions that look both ways"] = in_block(1, function(b, h)
    local s = b:add(h, b:attention("directional", h, h))
    return b:add(s, b:attention("directional", s, s, { name = "second" }))
  end),
}

function TestNetworks.test_networks_that_once_failed_have_right_gradients()
  for name, describe in pairs(CASES) do
    check(name, describe)
  end
end

function TestNetworks.test_gradients_of_random_networks_match_differences()
  for number = 1, NETWORKS do
    local describe, text, section = random_network(number)
    check("random network " .. number, describe, text, section)
  end
end

-- One set of buffers for all repetitions, the stream in one place.
function TestNetworks.test_evaluation_gives_the_logits_of_training()
  for number = 1, NETWORKS // 3 do
    local describe, _, section = random_network(number)
    local m = make_machine(describe, number, section)
    m.drops = false
    m:loss()
    local logits = m.logits
    m.training = false
    m:loss()
    lu.assertEquals(m.logits, logits, "random network " .. number)
  end
end

-- A block in which every kind of error can be planted: dropout, a sum that is read twice, a rectified product.
local function planted(plant)
  local m = make_machine(in_block(2, function(b, h)
    local a = b:norm("norm1", b:add(h, b:attention("self", h, h), 0.3))
    local s = b:add(a, b:feedforward(a, { hidden = 32, activation = "relu", bias = true }), 0.3)
    return b:add(s, b:product("map", b:norm("norm2", s), networks.WIDTH))
  end), 1)
  lu.assertNil(wrong_gradients(m, 1))
  plant(m.lists[m.net.scopes.layer])
  local ok, wrong = pcall(wrong_gradients, m, 1)
  return not ok or wrong ~= nil
end

local function find_first(list, kind)
  for _, b in ipairs(list) do
    if b.kind == kind then
      return b
    end
  end
end

local PLANTED = {
  ["two kept values in one buffer"] = function(lists)
    find_first(lists.forward, "add_norm").out.name = find_first(lists.forward, "attention").out.name
  end,
  ["a mask that another site overwrites"] = function(lists)
    for _, op in ipairs(lists.forward) do
      op.keep = op.keep and "keep"
    end
  end,
  ["a gradient in the stream's buffer"] = function(lists)
    find_first(lists.backward, "attention_grad").dy = find_first(lists.backward, "norm_grad").to
  end,
  ["a contribution that is stored, not added"] = function(lists)
    for _, b in ipairs(lists.backward) do
      b.adds = false
    end
  end,
  ["an input gradient that is not rectified"] = function(lists)
    for _, b in ipairs(lists.backward) do
      b.relu = nil
    end
  end,
  ["a norm that is left out"] = function(lists)
    table.remove(lists.backward, #lists.backward - 4)
  end,
}

function TestNetworks.test_planted_errors_are_found()
  for name, plant in pairs(PLANTED) do
    lu.assertTrue(planted(plant), name)
  end
end

-- ---- unused rows ----

TestLabelledRows = {}

-- A scope's two lists as one text: + before operations on labelled rows alone, ~ before a buffer that is expanded to
-- all rows.
local function mark_partial(found, executed, scope)
  local words = {}
  for _, op in ipairs(executed[scope].forward) do
    words[#words + 1] = (found.partial[op] and "+" or "") .. op.out.name
  end
  words[#words + 1] = "|"
  local function spread(key)
    for _, buffer in ipairs(found.spread[key] or {}) do
      words[#words + 1] = "~" .. buffer.name
    end
  end
  for _, b in ipairs(executed[scope].backward) do
    spread(b)
    words[#words + 1] = (found.partial[b] and "+" or "") .. b.kind
  end
  spread(scope)
  return table.concat(words, " ")
end

local function post_norm(b, h)
  local s = b:norm("norm1", b:add(h, b:attention("self", h, h)))
  return b:norm("norm2", b:add(s, b:product("map", s, networks.WIDTH)))
end

local POST_NORM = "query_key_value +attended +branch +norm1 +map +output"
  .. " | +norm_grad +copy +weight_grad +input_grad +norm_grad +weight_grad +input_grad ~dattended attention_grad"
  .. " weight_grad ~gradient input_grad"
local ALL_ROWS = "embedding output logits | classify_grad block_grad embed_grad"

-- { description, the network's lists, its block's lists }; without lists all rows are used.
local LABELLED = {
  ["keys and values of all tokens, nothing else"] = { in_block(2, post_norm), ALL_ROWS, POST_NORM },
  ["a stack that runs twice, and a norm behind it"] = { embedded(function(net, x)
    local b = net:block("layer", 2, "A block.", { loops = 2 })
    b:output(post_norm(b, b:input(x)))
    return net:norm("norm", b.result)
  end), "embedding output +norm logits | classify_grad +norm_grad block_grad embed_grad", POST_NORM },
  ["pre-norm: the stream's gradient is of labelled rows up to the first norm"] = { in_block(1, function(b, h)
    local y = b:norm("norm1", h)
    return b:add(h, b:attention("self", y, y))
  end), ALL_ROWS, "norm1 query_key_value +attended +branch +output | +weight_grad +input_grad ~dattended attention_grad"
    .. " weight_grad input_grad ~gradient norm_grad" },
  ["a gradient of labelled rows behind one of all, of the same value"] = { in_block(1, function(b, h)
    local s = b:product("map", h, networks.WIDTH)
    return b:add(s, b:attention("self", h, h))
  end) },
  ["no attention"] = { embedded(function(net, x)
    return net:product("map", x, networks.WIDTH)
  end), "embedding +map logits | classify_grad +weight_grad +input_grad ~gradient embed_grad" },
  ["two streams: the target is read out at every token"] = { function(net)
    local tokens = net:table("token")
    local x = net:embed("memory", net:stream("source"), { table = tokens, scale = 2 })
    local b = net:block("layer", 1, "A block.")
    local h = b:input(net:embed("embedding", net:stream("target"), { table = tokens, scale = 2 }))
    b:output(b:add(h, b:attention("cross", h, b:external(x))))
    net:classify(net:readout(b.result, "last"))
  end },
}

function TestLabelledRows.test_unused_rows_are_left_out()
  for name, case in pairs(LABELLED) do
    local net = build(case[1])
    local executed = derive_lists(net)
    local found = labelled_rows.derive(net, executed)
    local block = found and net.scopes.layer
    lu.assertEquals({ found and mark_partial(found, executed, net), block and mark_partial(found, executed, block) },
      { case[2], case[3] }, name)
  end
end

-- ---- equal rows ----

TestVocabularyRows = {}

-- The block's two lists as one text: * before operations on the vocabulary's rows, = before a value whose rows are
-- copied to all tokens, ^ before a buffer of gradients that are summed by symbol.
local function marked_once(found, executed)
  local words, list = {}, executed[found.block]
  for _, op in ipairs(list.forward) do
    words[#words + 1] = (found.repeated[op.out] and "=" or "") .. (found.done[op] and "*" or "") .. op.out.name
  end
  words[#words + 1] = "|"
  local function summed(key)
    for _, buffer in ipairs(found.summed[key] or {}) do
      words[#words + 1] = "^" .. buffer.name
    end
  end
  for _, b in ipairs(list.backward) do
    summed(b)
    words[#words + 1] = (found.done[b] and "*" or "") .. b.kind
  end
  summed(found.block)
  return table.concat(words, " ")
end

-- A block on vectors of tokens, which are embedded with these options; besides: text with other readers of the vectors.
local function on_tokens(options, block, besides)
  return function(net)
    options.table, options.scale = net:table("token"), 2
    local x = net:embed("embedding", net:stream("source"), options)
    local b = net:block("layer", 2, "A block.")
    b:output(block(b, b:input(x)))
    net:classify(net:readout(besides and besides(net, b.result, x) or b.result, "last"))
  end
end

local BEHIND = " | weight_grad input_grad attention_grad"

-- { description, the block's lists }; without lists all rows are of tokens.
local ALIKE = {
  ["post-norm: the first product"] = { on_tokens({}, post_norm), "=*query_key_value attended branch norm1 map output"
    .. " | norm_grad copy weight_grad input_grad norm_grad weight_grad input_grad attention_grad ^dquery_key_value"
    .. " *weight_grad ^gradient *input_grad" },
  ["pre-norm: the norm, too"] = { on_tokens({}, function(b, h)
    local y = b:norm("norm1", h)
    return b:add(h, b:attention("self", y, y))
  end), "*norm1 =*query_key_value attended branch output" .. BEHIND
    .. " ^dquery_key_value *weight_grad *input_grad ^gradient *norm_grad" },
  ["what reads a value that others read for all tokens"] = { on_tokens({}, function(b, h)
    local s = b:product("map", h, networks.WIDTH)
    return b:add(s, b:attention("self", s, s))
  end), "=*map query_key_value attended branch output | copy weight_grad input_grad attention_grad weight_grad"
    .. " input_grad ^dmap_own *weight_grad *input_grad" },
  ["a rectified value that others read is rectified for all tokens"] = { on_tokens({}, function(b, h)
    local s = b:activation("act", b:product("map", h, networks.WIDTH, { bias = true }), "relu")
    local y = b:norm("norm1", s)
    return b:add(b:add(h, b:attention("self", y, y)), s)
  end), "=*act norm1 query_key_value attended branch sum1 output | copy copy weight_grad input_grad attention_grad"
    .. " weight_grad input_grad norm_grad relu_grad ^dact_own *weight_grad ^dinput_own *input_grad *copy" },
  ["what is dropped out is of tokens"] = { on_tokens({}, function(b, h)
    local y = b:activation("act", b:product("map", h, networks.WIDTH), "gelu", 0.3)
    return b:add(h, b:attention("self", y, y))
  end), "=*map act query_key_value attended branch output" .. BEHIND
    .. " weight_grad input_grad dropout_grad activation_grad ^dmap *weight_grad ^gradient *input_grad" },
  ["no product"] = { on_tokens({}, function(b, h)
    local y = b:activation("act", b:norm("norm1", h), "gelu", 0.3)
    return b:add(h, b:attention("self", y, y))
  end) },
  ["a gradient of tokens behind one of symbols, of the same value"] = { on_tokens({}, function(b, h)
    local one = b:activation("act", h, "gelu", 0.3)
    local two = b:product("map", h, networks.WIDTH)
    return b:add(one, b:add(two, b:attention("self", h, h), 0.3))
  end) },
  ["an embedding that is dropped out"] = { on_tokens({ dropout = 0.3 }, post_norm) },
  ["an embedding that others read, too"] = { on_tokens({}, post_norm, function(net, x, embedding)
    return net:add(x, embedding)
  end) },
}

function TestVocabularyRows.test_operations_on_rows_of_symbols_are_computed_once_per_symbol()
  for name, case in pairs(ALIKE) do
    local net = build(case[1])
    local executed = derive_lists(net)
    local found = vocabulary_rows.derive(net, executed)
    lu.assertEquals(found and marked_once(found, executed), case[2], name)
  end
end

-- ---- mistakes ----

TestMistakes = {}

-- A network of two streams: `lines` are the sixth and following ones.
local function with_streams(lines)
  return ([[
return function(net)
  local tokens = net:table("token")
  local x = net:embed("embedding", net:stream("source"), { table = tokens, scale = 1 })
  local y = net:embed("memory", net:stream("target"), { table = tokens, scale = 1 })
  local b = net:block("layer", 1, "A block.")
%s
  net:classify(net:readout(b.result, "last"))
end
]]):format(lines)
end

-- { lines, line of the message, found, expected }: errors that need two streams; see test_own_network_errors.lua.
local MISTAKES = {
  { [[local h = b:input(x) b:output(b:add(h, b:attention("self", h, b:external(y))))]], 6,
    "attention self looks from source to target", 'the attention "cross"' },
  { [[local h = b:input(x)
b:output(b:add(h, b:external(y)))]], 7, "adding input of stream source and memory of stream target",
    "values of one stream" },
  { [[local h = b:input(x) b:output(b:add(h, y))]], 6, "memory belongs to the network", "block:external(value)" },
  { [[local h = b:input(x) b:output(b:add(h, b:attention("three", h, h)))]], 6,
    "attention three has 3 heads in a width of 16", "heads that divide the width" },
  { [[local h = b:input(x)
local w = b:product("wide", h, 32)
b:output(b:add(h, b:attention("self", w, w)))]], 8, "attention self of wide, 32 channels", "the model's width, 16" },
  { [[b:output(b:norm("norm1", b:input(x)))]], 4, "memory of the network is read by nothing", "a use of it" },
}

function TestMistakes.test_errors_with_two_streams_are_reported_with_their_line()
  for _, case in ipairs(MISTAKES) do
    local text, line, what, expected = with_streams(case[1]), table.unpack(case, 2)
    local all = families()
    all.three = setmetatable({ name = "three", heads = 3, head_width = 5 }, { __index = all.self })
    local chunk = assert(load(text, "=network"))
    local ok, problem = pcall(build, chunk(), "=network", all)
    lu.assertFalse(ok, text)
    lu.assertTrue(type(problem) == "table" and problem.problem, tostring(problem))
    lu.assertStrContains(problem.what, what)
    lu.assertStrContains(problem.expected or "", expected)
    lu.assertEquals(problem.line, line, text)
  end
end

support.run()
