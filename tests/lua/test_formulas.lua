-- Random score functions, which together contain every operation. A formula that is traced and simplified must have,
-- for three pairs of tokens, the value that plain Lua computes from the same text. A refused function must have a
-- message.

local support = dofile("tests/lua/support.lua")
local ir = require("expression.ir")
local lu = require("luaunit")
local plain_functions = require("expression.functions").plain
local sandbox = require("spec.reading.sandbox")
local traced = require("expression.traced")

TestAgainstNumbers = {}

local state

-- Returns a random integer from 0 to n - 1.
local function sample_below(n)
  state = (state * 6364136223846793005 + 1442695040888963407) & 0x7fffffffffffffff
  return (state >> 33) % n
end

local function pick(list)
  return list[sample_below(#list) + 1]
end

local LEAVES = { "x.score", "x.score", "x.distance", "x.distance", "x.query_index", "x.key_index", "x.head", "x.layer",
  "x.query_length", "x.heads", "x.p", "x.p", "0", "1", "2", "-3", "0.5", "1.7", "8" }

local pick_number

local function pick_truth(depth)
  local name = depth == 0 and "less" or pick({ "less", "less_equal", "equal", "all", "any", "negate" })
  if name == "negate" then
    return ("negate(%s)"):format(pick_truth(depth - 1))
  elseif name == "all" or name == "any" then
    return ("%s(%s, %s)"):format(name, pick_truth(depth - 1), pick_truth(depth - 1))
  end
  return ("%s(%s, %s)"):format(name, pick_number(depth), pick_number(depth))
end

local FORMS = {
  function(a, b) return ("(%s + %s)"):format(a, b) end, function(a, b) return ("(%s - %s)"):format(a, b) end,
  function(a, b) return ("(%s * %s)"):format(a, b) end, function(a, b) return ("(%s / %s)"):format(a, b) end,
  function(a, b) return ("min(%s, %s)"):format(a, b) end, function(a, b) return ("max(%s, %s)"):format(a, b) end,
  function(a) return ("(- %s)"):format(a) end, function(a) return ("abs(%s)"):format(a) end,
  function(a) return ("mod(%s, %s)"):format(a, pick({ "2", "3", "1.5" })) end,
  function(a) return ("(%s ^ %s)"):format(a, pick({ "2", "3", "-1", "0.5", "0", "1" })) end,
  function(a) return ("pow(abs(%s), x.p)"):format(a) end, function(a) return ("exp(-abs(%s))"):format(a) end,
  function(a) return ("log(1 + abs(%s))"):format(a) end, function(a) return ("log1p(abs(%s))"):format(a) end,
  function(a) return ("sqrt(abs(%s))"):format(a) end, function(a) return ("tanh(%s)"):format(a) end,
  function(a) return ("sigmoid(%s)"):format(a) end, function(a) return ("erf(%s)"):format(a) end,
  function(a) return ("sin(%s)"):format(a) end,
  function(a) return ("cos(%s)"):format(a) end, function(a) return ("floor(%s)"):format(a) end,
  function(a) return ("bucket(%s, { -2, 0, 1, 5 })"):format(a) end,
  function(a) return ("lookup(x.t, floor(%s))"):format(a) end,
  function(a, b) return ("sum(3, function(m) return (%s) * m + %s end)"):format(a, b) end,
}

function pick_number(depth)
  if depth == 0 then
    return pick(LEAVES)
  elseif sample_below(8) == 0 then
    return ("select(%s, %s, %s)"):format(pick_truth(depth - 1), pick_number(depth - 1), pick_number(depth - 1))
  end
  return pick(FORMS)(pick_number(depth - 1), pick_number(sample_below(depth)))
end

-- For each of three pairs of tokens: the values of x.<name>, and of the symbols of traced formulas, which have other
-- names. p is a parameter with one number, and t is a table whose first number belongs to the index `first`.
local PAIRS = {}
for i, indices in ipairs({ { 0, 0 }, { 4, 1 }, { 2, 6 } }) do
  local query, key = indices[1], indices[2]
  PAIRS[i] = { score = 0.7133 - i, query_index = query, key_index = key, distance = key - query, head = i,
    layer = i % 2, query_length = 7, heads = 4, p = 1.3717, offset = key - query, total = key + query, length = 7,
    t = { first = -2, 0.31, -0.57, 0.83, 1.19, -1.41 } }
end

local function read_table(t, index)
  return t[math.max(1, math.min(#t, math.floor(index - t.first) + 1))]
end

local evaluate

-- Operations whose values do not depend on the operands' values alone: (node, pair, indices of sums) -> value.
local SPECIAL = {
  number = function(node) return node.value end,
  truth = function(node) return node.value end,
  symbol = function(node, pair) return pair[node.name] end,
  parameter = function(node, pair) return pair[node.parameter.name] end,
  index = function(node, _, indices) return indices[node] end,
  lookup = function(node, pair, indices)
    return pair.t[math.tointeger(evaluate(node[1], pair, indices)) + 1]
  end,
  all = function(node, ...) return evaluate(node[1], ...) and evaluate(node[2], ...) end,
  any = function(node, ...) return evaluate(node[1], ...) or evaluate(node[2], ...) end,
  negate = function(node, ...) return not evaluate(node[1], ...) end,
  select = function(node, ...) return evaluate(node[evaluate(node[1], ...) and 2 or 3], ...) end,
  bucket = function(node, ...) return traced.functions.bucket(evaluate(node[1], ...), node.edges) end,
  sum = function(node, pair, indices)
    local total = 0
    for m = 0, node.index.count - 1 do
      indices[node.index] = m
      total = total + evaluate(node[1], pair, indices)
    end
    return total
  end,
}

function evaluate(node, pair, indices)
  if SPECIAL[node.op] then
    return SPECIAL[node.op](node, pair, indices)
  end
  return plain_functions[node.op](evaluate(node[1], pair, indices), node[2] and evaluate(node[2], pair, indices))
end

-- Returns the value of a function's text in plain Lua; nil if it fails, or if the value is not a number or too large.
local function compute_directly(text, pair)
  local environment = setmetatable({ lookup = read_table }, { __index = traced.functions })
  local is_ok, value = pcall(load("local x = ... return " .. text, "=direct", "t", environment), pair)
  return is_ok and value == value and math.abs(value) < 1e12 and value or nil
end

function TestAgainstNumbers.test_error_function_has_the_values_of_tables()
  for x, value in pairs({ [0] = 0, [0.5] = 0.5204998778130465, [1] = 0.8427007929497149, [2] = 0.9953222650189527,
    [3.5] = 0.9999992569016276, [1e9] = 1 }) do
    lu.assertAlmostEquals(plain_functions.erf(x), value, 1e-15)
    lu.assertAlmostEquals(plain_functions.erf(-x), -value, 1e-15)
  end
end

-- The formula of a random function has the function's value, or the function is refused with a message.
function TestAgainstNumbers.test_random_functions()
  state = 7
  local compared, refusals = 0, 0
  local p = { name = "p", local_name = "p", per = "model", learned = true, init = 1.0 }
  local t = { name = "t", local_name = "t", per = "model", learned = true, init = 0.0, size = 5, first = -2,
    outside = "clip" }
  for case = 1, 2000 do
    local text = "x.score + " .. pick_number(1 + case % 4)
    local source = "return function(x) return " .. text .. " end"
    local session = { builder = ir.new({ heads = 4, layers = 2, positions = "index" }), heads = 4, layers = 2,
      parameters = { p = p, t = t } }
    local x = traced.begin(session)
    local value, problem = sandbox.call(source, assert(sandbox.run(source)), x)
    traced.finish()
    refusals = refusals + (problem and 1 or 0)
    lu.assertTrue(problem == nil or #problem.what > 0 and problem.line == 1, text)
    local _, node = traced.classify(value)
    for _, pair in ipairs(node and PAIRS or {}) do
      local expected = compute_directly(text, pair)
      if expected then
        local actual = evaluate(node, pair, {})
        compared = compared + 1
        lu.assertTrue(math.abs(actual - expected) <= 1e-9 * math.max(1, math.abs(expected)),
          ("case %d: %s is %.17g, its formula %s is %.17g"):format(case, text, expected, ir.format(node), actual))
        lu.assertTrue(actual >= node.low - 1e-9 and actual <= node.high + 1e-9, text .. " leaves its range")
      end
    end
  end
  lu.assertTrue(compared > 3000, compared)
  lu.assertTrue(refusals > 50 and refusals < 1500, refusals)
end

support.run()
