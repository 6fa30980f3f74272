-- generator/network: the passes that are derived from a description run on numbers (machine.lua), and the gradients
-- are compared with differences of the loss.

local support = dofile("tests/lua/support.lua")

local backward = require("network.lists.backward")
local built_networks = require("built_networks")
local canonical = require("base.canonical")
local lists = require("base.lists")
local lu = require("luaunit")
local machine = require("machine")
local networks = require("networks")
local new_random = require("random")

local build, make_families, describe_block = built_networks.build, built_networks.make_families,
  built_networks.describe_block
local describe_embedded = built_networks.describe_embedded
local NETWORKS = tonumber(os.getenv("LH_NETWORKS")) or 100
local STEP, TOLERANCE = 1e-6, 1e-6
local TRIES = 8 -- a numeric derivative is wrong if the input of a ReLU changes its sign; this hardly happens 8 times

local IN_BLOCKS = { kind = "learned", in_blocks = true, rows = 4, dropout_rate = 0.2,
  first = { kind = "normal", value = 1 } }

local function make_machine(describe, number, section)
  local net = build(describe, nil, nil, section)
  return machine.new(net, new_random(number), net.streams[2] and { 3, 4 } or { 3 })
end

-- Returns a list with { name, values, gradients } for every tensor of parameters, sorted by name.
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
local function is_close(m, tensors, random)
  local moves, expected_derivative = {}, 0
  for i, t in ipairs(tensors) do
    moves[i] = {}
    for k = 1, #t[2] do
      moves[i][k] = random:pick_number(2001) / 1000 - 1.001
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
  local upper_loss = m:compute_loss()
  move(-2 * STEP)
  local numeric = (upper_loss - m:compute_loss()) / (2 * STEP)
  move(STEP)
  return math.abs(numeric - expected_derivative) <= TOLERANCE * (1 + math.abs(numeric) + math.abs(upper_loss))
end

-- Returns the names of the tensors whose gradients are wrong in all tries, as one text, or nil.
local function find_wrong_gradients(m, number)
  local suspects
  for try = 1, TRIES do
    local random = new_random(number * TRIES + try)
    m:sample(random)
    local tensors, still_suspect = list_tensors(m, m:differentiate()), {}
    if is_close(m, tensors, random) then
      return nil
    end
    for _, t in ipairs(tensors) do
      local is_suspect = not suspects or suspects[t[1]]
      still_suspect[t[1]] = is_suspect and not is_close(m, { t }, random) or nil
    end
    suspects = still_suspect
    if not next(suspects) then
      return nil
    end
  end
  return table.concat(canonical.sort_keys(suspects), ", ")
end

local function check_gradients(name, describe, text, section)
  local is_ok, problem = xpcall(function()
    return find_wrong_gradients(make_machine(describe, 1, section), 1)
  end, function(err)
    return type(err) == "table" and err.what or debug.traceback(err)
  end)
  if not is_ok or problem then
    lu.fail(("%s: %s\n%s"):format(name, problem, text or ""))
  end
end

-- The sections of random networks, as built_networks.build takes them.
local SECTIONS = { {}, {}, { embedding = "linear" }, { embedding = "linear", readout = "probe" },
  { additive = IN_BLOCKS }, { embedding = "linear", additive = IN_BLOCKS } }

-- Returns a random description, its text and its section.
local function make_network(number)
  local section = SECTIONS[number % #SECTIONS + 1]
  local description = networks.make_random(number, { streams = number % 3 == 0 and { "source", "target" },
    families = { "self", "sloped", "causal", "directional" }, no_dropout = { directional = true }, model = section,
    has_block_positions = section.additive ~= nil })
  return assert(load(description.text))(), description.text, section
end

TestNetworks = {}

-- Minimal networks that once gave wrong results.
local CASES = {
  ["a sum of a value and its product"] = describe_block(2, function(b, h)
    return b:add(h, b:product("map", h, networks.WIDTH))
  end),
  ["a sum to which another sum applies dropout"] = describe_block(1, function(b, h)
    local s = b:add(h, b:norm("norm1", h))
    return b:add(h, s, 0.3)
  end),
  ["a value to which two sums apply dropout"] = describe_block(1, function(b, h)
    local f = b:product("map", h, networks.WIDTH)
    return b:add(b:add(h, f, 0.3), f, 0.3)
  end),
  ["a value from outside that is also added after the block"] = describe_embedded(function(net, x)
    local b = net:block("layer", 1, "A block.")
    b:output(b:norm("norm1", b:add(b:input(net:norm("norm1", x)), b:external(x))))
    return net:add(b.result, x)
  end),
  ["a result that another block reads from outside"] = describe_embedded(function(net, x)
    local b = net:block("layer", 1, "A block.")
    b:output(b:norm("norm1", b:input(x)))
    local c = net:block("other", 2, "Another.")
    local h = c:input(b.result)
    c:output(c:add(c:norm("norm1", h), c:external(b.result)))
    return c.result
  end),
  ["a value from outside with the name of a value in the block"] = describe_embedded(function(net, x)
    local b = net:block("layer", 1, "A block.")
    local outside = net:norm("norm1", x)
    local h, inner = b:input(x), b:external(outside)
    local s = b:norm("norm1", h)
    b:output(b:add(b:add(s, b:add(h, s), 0.3), inner))
    return net:add(b.result, outside)
  end),
  ["values in a block and around it with one name"] = describe_embedded(function(net, x)
    local stored = net:product("map", x, networks.WIDTH)
    local b = net:block("layer", 2, "A block.")
    local h = b:input(x)
    b:output(b:add(h, b:product("map", h, networks.WIDTH)))
    return net:add(b.result, net:product("late", stored, networks.WIDTH))
  end),
  ["a pre-norm block before one that keeps its input"] = describe_embedded(function(net, x)
    local b = net:block("layer", 2, "A block.")
    local h = b:input(x)
    b:output(b:add(h, b:product("map", b:norm("norm1", h), networks.WIDTH)))
    local c = net:block("other", 1, "Another.")
    h = c:input(b.result)
    c:output(c:norm("norm1", c:add(h, c:product("map", h, networks.WIDTH))))
    return c.result
  end),
  ["blocks of two widths, whose inputs have gradients of their own"] = describe_embedded(function(net, x)
    local function block(name, value)
      local b = net:block(name, 2, "A block.")
      local h = b:input(value)
      local s = b:add(h, b:activation("act", h, "gelu"))
      b:output(b:add(b:product("map", s, value.width.count), h, 0.3))
      return b.result
    end
    local wide_block = block("other", net:product("wide", block("layer", x), 2 * networks.WIDTH))
    return net:add(x, net:product("narrow", wide_block, networks.WIDTH))
  end),
  ["two attentions with directions"] = describe_block(1, function(b, h)
    local s = b:add(h, b:attention("directional", h, h))
    return b:add(s, b:attention("directional", s, s, { name = "second" }))
  end),
}

function TestNetworks.test_networks_that_once_failed_have_right_gradients()
  for name, describe in pairs(CASES) do
    check_gradients(name, describe)
  end
end

function TestNetworks.test_gradients_of_random_networks_match_differences()
  for number = 1, NETWORKS do
    local describe, text, section = make_network(number)
    check_gradients("random network " .. number, describe, text, section)
  end
end

-- An evaluation has one set of buffers for all repetitions of a block, and training has one for each.
function TestNetworks.test_evaluation_gives_the_logits_of_training()
  for number = 1, NETWORKS // 3 do
    local describe, _, section = make_network(number)
    local m = make_machine(describe, number, section)
    m.has_dropout = false
    m:compute_loss()
    local logits = m.logits
    m.is_training = false
    m:compute_loss()
    lu.assertEquals(m.logits, logits, "random network " .. number)
  end
end

-- Whether the comparison finds an error that plant(passes) makes in the passes of a block. The block has dropout, a sum
-- with two readers, and a rectified product.
local function finds_planted_error(plant)
  local m = make_machine(describe_block(2, function(b, h)
    local a = b:norm("norm1", b:add(h, b:attention("self", h, h), 0.3))
    local s = b:add(a, b:feedforward(a, { hidden = 32, activation = "relu", bias = true }), 0.3)
    return b:add(s, b:product("map", b:norm("norm2", s), networks.WIDTH))
  end), 1)
  lu.assertNil(find_wrong_gradients(m, 1))
  plant(m.lists[m.net.scopes.layer])
  local is_ok, wrong = pcall(find_wrong_gradients, m, 1)
  return not is_ok or wrong ~= nil
end

local function find_first(list, kind)
  return lists.find(list, function(operation) return operation.kind == kind end)
end

local PLANTED = {
  ["two stored values in one buffer"] = function(passes)
    find_first(passes.forward, "add_norm").out.name = find_first(passes.forward, "attention").out.name
  end,
  ["a mask that another site overwrites"] = function(passes)
    for _, op in ipairs(passes.forward) do
      op.mask = op.mask and "keep"
    end
  end,
  ["a gradient in the stream's buffer"] = function(passes)
    find_first(passes.backward, "attention_grad").dy = find_first(passes.backward, "norm_grad").to
  end,
  ["a contribution that is stored, not added"] = function(passes)
    for _, b in ipairs(passes.backward) do
      b.is_added = false
    end
  end,
  ["an input gradient that is not rectified"] = function(passes)
    for _, b in ipairs(passes.backward) do
      b.rectified_value = nil
    end
  end,
  ["a norm that is left out"] = function(passes)
    table.remove(passes.backward, #passes.backward - 4)
  end,
}

function TestNetworks.test_planted_errors_are_found()
  for name, plant in pairs(PLANTED) do
    lu.assertTrue(finds_planted_error(plant), name)
  end
end

-- An attention writes the gradient of its contribution to the buffer of the residual stream. This buffer then no longer
-- holds the gradient of `sum`, so the gradient of `sum` needs its own buffer.
function TestNetworks.test_a_contribution_gradient_overwrites()
  local stream = { name = "tokens", index = 0 }
  local function make_value(name, is_residual)
    return { name = name, width = { text = "WIDTH" }, stream = stream, is_residual = is_residual }
  end
  local sum, result = make_value("sum", true), make_value("result", true)
  local contribution, q, attended = make_value("contribution", true), make_value("q"), make_value("attended")
  local _, gradients = backward.derive({
    { kind = "zeros", out = contribution }, { kind = "zeros", out = q }, { kind = "embed", out = sum },
    { kind = "attention", q = q, kv = q, contribution = contribution, out = attended },
    { kind = "add", residual = sum, branch = attended, out = result },
  }, nil, result, {})
  lu.assertEquals(gradients[contribution].name, "gradient")
  lu.assertEquals(gradients[sum].name, "dsum_own")
end

TestMistakes = {}

-- Returns the text of a description with two streams and these lines in its block. The first of these lines is line 6
-- of the text.
local function describe_two_streams(lines)
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

-- { lines, line of the message, found, expected } of mistakes that need two streams. test_own_network_errors.lua has
-- the others.
local MISTAKES = {
  { [[local h = b:input(x) b:output(b:add(h, b:attention("self", h, b:external(y))))]], 6,
    "attention self has queries of stream source and keys of stream target", 'the attention "cross"' },
  { [[local h = b:input(x)
b:output(b:add(h, b:external(y)))]], 7,
    "the summands belong to different streams: input to source, and memory to target",
    "values of one stream" },
  { [[local h = b:input(x) b:output(b:add(h, y))]], 6, "memory belongs to the network", "block:external(value)" },
  { [[local h = b:input(x) b:output(b:add(h, b:attention("three", h, h)))]], 6,
    "attention three has 3 heads, which do not divide the width 16", "divides the width" },
  { [[local h = b:input(x)
local w = b:product("wide", h, 32)
b:output(b:add(h, b:attention("self", w, w)))]], 8, "queries of 32 channels (wide)", "the model's width, 16" },
  { [[b:output(b:norm("norm1", b:input(x)))]], 4, "no operation reads the value memory of the network",
    "an operation that reads it" },
}

function TestMistakes.test_errors_with_two_streams_are_reported_with_their_line()
  for _, case in ipairs(MISTAKES) do
    local text, line, problem_text, expected = describe_two_streams(case[1]), table.unpack(case, 2)
    local families = make_families()
    families.three = setmetatable({ name = "three", heads = 3, head_width = 5 }, { __index = families.self })
    local chunk = assert(load(text, "=network"))
    local is_ok, problem = pcall(build, chunk(), "=network", families)
    lu.assertFalse(is_ok, text)
    lu.assertTrue(type(problem) == "table" and problem.problem, tostring(problem))
    lu.assertStrContains(problem.what, problem_text)
    lu.assertStrContains(problem.expected or "", expected)
    lu.assertEquals(problem.line, line, text)
  end
end

support.run()
