-- What `export pytorch` writes: formulas as Python, what it knows, the draws that it compares at.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local pytorch = require("export.pytorch")
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

local function resolved(more)
  local base = { encoding = { rotation = { kind = "none" }, relative = { kind = "none" },
    positions = { kind = "index" }, additive = { kind = "none" } }, model = { kind = "encoder", layers = 1 },
    task = { kind = "x" } }
  more(base)
  return base
end

function TestPytorch.test_what_it_does_not_know_is_named()
  lu.assertNil(pytorch.unknown(resolved(function() end)))
  lu.assertEquals(pytorch.unknown(resolved(function(spec) spec.encoding.relative.kind = "spiral" end)),
    'encoding.relative.kind = "spiral"')
  lu.assertEquals(pytorch.unknown(resolved(function(spec) spec.encoding.gate = { kind = "on" } end)),
    'encoding.gate = {"kind":"on"}')
  lu.assertEquals(pytorch.unknown(resolved(function(spec) spec.model.kind = "decoder" end)), 'model.kind = "decoder"')
  lu.assertEquals(pytorch.unknown(resolved(function(spec) spec.task.computation = 3 end)), "task.computation = 3")
end

local function plan(fields)
  return setmetatable(fields, { __index = { limit = false, task = {}, position_range = 0, distance_range = 0 } })
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
    local got = pytorch.request(plan({ position_range = 16, distance_range = 16 }), input, 1)
    assert_draws(got.positions, count, 0, 16)
    assert_draws(got.distances, count, 0, 16)
    lu.assertEquals(got.distances[1], 0)
  end
  lu.assertEquals(pytorch.request(plan({}), { 1, 0 }, 2), { input = { 1, 0 } })
  lu.assertNil(pytorch.request(plan({ limit = { tokens = 3 } }), { 1, 0 }, 2))
end

function TestPytorch.test_lengths_reach_past_training()
  lu.assertEquals(pytorch.lengths({ train = { lengths = { first = 1, last = 40, step = 1 } } }), { 1, 40, 80 })
  lu.assertEquals(pytorch.lengths({ train = { lengths = { list = { 3, 5 } } } }), { 3, 5, 10 })
  lu.assertEquals(pytorch.lengths({ train = { lengths = { first = 7, last = 7, step = 1 } } }), { 7, 14 })
end

os.exit(lu.LuaUnit.run())
