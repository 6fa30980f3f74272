-- generator/spec/score/ and expression/: score functions from the text of a spec to a formula, its parameters and its
-- digests. tests/golden/errors/score_* have refused ones and their messages.

local support = dofile("tests/lua/support.lua")
local ir = require("expression.ir")
local lfs = require("lfs")
local lu = require("luaunit")
local parameters = require("spec.score.score_parameters")
local plan_module = require("plan.plan")
local resolved_spec = require("spec.resolved")
local sandbox = require("spec.reading.sandbox")
local traced = require("expression.traced")

local HEAD = 'return { task = { kind = "bucket_sort" }, model = { heads = 4, layers = 2 }, encoding = { '

local function accept(encoding, sets, head)
  local resolved, info, d = support.check_text((head or "") .. HEAD .. encoding .. " } }", sets)
  lu.assertEquals(d:text(), "")
  return resolved, info
end

local function refuse(encoding, message, sets, head)
  local resolved, _, d = support.check_text((head or "") .. HEAD .. encoding .. " } }", sets)
  lu.assertNil(resolved)
  lu.assertStrContains(d:text(), message)
  return d:text()
end

local function set(path, text)
  return { { path = path, text = text } }
end

-- The formula of a function body.
local function formula(body, rest, head)
  return accept(("score = function(x) %s end%s"):format(body, rest and ", " .. rest or ""), nil, head).encoding.score
end

local TABLE = "parameters = { bias = { index = { -2, 2 }, init = 0, outside = 'clip' } }"
local SLOPE = "parameters = { slope = { per = 'head', init = 1 } }"
local RANDOM = "positions = { kind = 'randomized'%s }"

TestPlain = {}

local function plain(text)
  local value, problem = sandbox.run("return { " .. text .. " }")
  lu.assertNil(problem)
  return value[1]
end

function TestPlain.test_functions_of_numbers_give_numbers()
  for text, value in pairs({
    ["abs(-3)"] = 3, ["min(4, 2, 3)"] = 2, ["max(4, 7, 3)"] = 7, ["floor(-2.5)"] = -3, ["mod(-1, 3)"] = 2,
    ["exp(0)"] = 1, ["log(1)"] = 0, ["log1p(0)"] = 0, ["sqrt(9)"] = 3, ["tanh(0)"] = 0, ["sigmoid(0)"] = 0.5,
    ["erf(7)"] = 1, ["sin(0)"] = 0, ["cos(0)"] = 1, ["pow(2, 10)"] = 1024, ["select(less(1, 2), 5, 6)"] = 5,
    ["select(negate(less_equal(2, 2)), 5, 6)"] = 6, ["select(all(equal(1, 1), less(3, 2)), 5, 6)"] = 6,
    ["select(any(equal(1, 2), less(1, 2)), 5, 6)"] = 5, ["bucket(5, { 1, 5, 9 })"] = 2, ["bucket(0, { 1 })"] = 0,
    ["sum(4, function(m) return m * m end)"] = 14, ["2 ^ 3 // 3 % 2"] = 0,
  }) do
    lu.assertEquals(plain(text) + 0.0, value + 0.0, text)
  end
end

function TestPlain.test_small_arguments_keep_their_digits()
  lu.assertAlmostEquals(plain("log1p(1e-12)"), 1e-12 - 5e-25, 1e-27)
  lu.assertAlmostEquals(plain("tanh(1e-9)"), 1e-9, 1e-24)
  lu.assertEquals(plain("tanh(1000)"), 1)
  lu.assertEquals(plain("tanh(-1000)"), -1)
end

function TestPlain.test_undefined_values_are_refused()
  for text, message in pairs({
    ["log(-1)"] = "log(-1) is not a finite number", ["log(0)"] = "log(0) is not", ["sqrt(-4)"] = "sqrt(-4) is not",
    ["exp(1000)"] = "exp(1000) is not", ["mod(3, 0)"] = "mod(3, 0) is not", ["abs(1 / 0)"] = "abs takes inf",
    ["abs(0 / 0)"] = "abs takes NaN", ["min(1)"] = "min has 1 argument", ["abs(1, 2)"] = "abs has 2 arguments",
    ["abs({})"] = "abs takes a table for a number", ["abs(nil)"] = "abs takes nothing (nil)",
    ["abs('1')"] = 'abs takes "1" for a number', ["abs(less(1, 2))"] = "abs takes a truth value",
    ["negate(1)"] = "negate takes a number for a truth value", ["all(less(1, 2))"] = "all has 1 argument",
    ["bucket(1, { 2, 1 })"] = "edge 2, 1, follows 2", ["bucket(1, {})"] = "bucket has no list of edges",
    ["sum(0, function() return 1 end)"] = "0 is no number of terms", ["sum(2, 3)"] = "sum has no function",
    ["sum(2, function() end)"] = "sum takes nothing (nil)", ["lookup({}, 1)"] = "its first argument is a table",
    ["absolute(1)"] = '"absolute" is not defined', ["sqr(1)"] = '"sqr" is not defined',
  }) do
    local value, problem = sandbox.run("return { " .. text .. " }")
    lu.assertNil(value, text)
    lu.assertStrContains(problem.what, message)
    lu.assertIsString(problem.expected, text)
  end
  local _, problem = sandbox.run("return { sqr(1) }")
  lu.assertEquals(problem.hint, "did you mean sqrt?")
end

function TestPlain.test_the_functions_cannot_be_replaced()
  for _, text in ipairs({ "abs = 3 return {}", "_ENV.abs = 3 return {}", "function abs() end return {}" }) do
    lu.assertStrContains(select(2, sandbox.run(text)).what, '"abs" is set as a global')
  end
  lu.assertEquals(plain("abs(-1)"), 1)
end

TestTracing = {}

function TestTracing.test_operators()
  lu.assertEquals(formula("return x.score + 2 * x.query_length"), "x.score + 2 * x.query_length")
  lu.assertEquals(formula("return x.score - x.slope * abs(x.distance)", SLOPE), "x.score - x.slope * abs(x.distance)")
  lu.assertEquals(formula("return -x.score / x.key_length"), "-(x.score / x.query_length)")
  lu.assertEquals(formula("return x.score ^ 2"), formula("return x.score * x.score"))
  lu.assertEquals(formula("return x.score + x.distance % 3"), "x.score + mod(x.distance, 3)")
  lu.assertEquals(formula("return x.score + x.distance // 3"), formula("return x.score + floor(x.distance / 3)"))
  lu.assertStrContains(formula("return x.score + x.distance // 3"), "floor(")
end

function TestTracing.test_functions()
  for _, call in ipairs({ "exp(x.slope)", "log1p(abs(x.distance))", "sqrt(abs(x.distance))", "tanh(x.slope)",
    "sigmoid(x.slope)", "erf(x.slope)", "sin(x.distance)", "cos(x.distance)", "pow(x.query_length, x.slope)",
    "select(less(x.distance, 0), x.slope, 1)", "min(x.slope, 1)", "log(x.query_length)", "floor(x.slope)",
    "bucket(x.distance, { 0, 3 })", "max(x.slope, x.head)", "min(max(x.slope, 0), x.head)" }) do
    local more = call:find("slope") and "" or " + x.slope"
    lu.assertStrContains(formula("return x.score + " .. call .. more, SLOPE), call)
  end
  lu.assertEquals(formula("return x.score + min(x.distance, 3, x.head)"), "x.score + min(min(x.distance, 3), x.head)")
end

function TestTracing.test_truth_values()
  local function condition(text)
    return formula("return x.score + select(" .. text .. ", 1, 2)"):match("select%((.*), 1, 2%)") or "decided"
  end
  lu.assertEquals(condition("less_equal(x.distance, 3)"), "less_equal(x.distance, 3)")
  lu.assertEquals(condition("all(less(x.distance, 3), less(x.head, 2), equal(x.layer, 1))"),
    "all(all(less(x.distance, 3), less(x.head, 2)), equal(x.layer, 1))")
  lu.assertEquals(condition("any(less(x.distance, 3), less(2, 1))"), "less(x.distance, 3)")
  lu.assertEquals(condition("all(less(x.distance, 3), less(2, 1))"), "decided")
  lu.assertEquals(condition("any(less(1, 2), less(x.distance, 3))"), "decided")
  lu.assertEquals(formula("return x.score + select(negate(less(x.distance, 3)), 1, 2)"),
    "x.score + select(less(x.distance, 3), 2, 1)")
end

function TestTracing.test_sums()
  lu.assertEquals(formula("return x.score + sum(3, function(m) return x.slope * m end)", SLOPE),
    "x.score + sum(3, i: x.slope * i)")
  lu.assertEquals(formula("return x.score + x.slope * sum(4, function(m) return m * m end)", SLOPE):match("sum.*"),
    "sum(4, i: i * i)")
  local inner = formula("return x.score + sum(2, function(m) "
    .. "return sum(3, function(n) return x.slope * m * n end) end)", SLOPE)
  lu.assertStrContains(inner, "sum(2, i: sum(3, i1: ")
  lu.assertEquals(formula("return x.score + sum(3, function() return 2 end)"), "x.score + 6")
end

function TestTracing.test_loops_and_helpers_of_the_file()
  lu.assertEquals(formula("local s = x.score for h = 1, x.heads do s = s + x.head end return s"),
    formula("local s = x.score + x.head return s + x.head + x.head + x.head"))
  local head = "local rate = sqrt(16)\nlocal function far(x, a) return a * abs(x.distance) end\n"
  lu.assertEquals(formula("return x.score - far(x, rate)", nil, head), "x.score - 4 * abs(x.distance)")
end

function TestTracing.test_symbols_of_index_positions_are_the_indices()
  local one = formula("return x.score - abs(x.key - x.query)")
  lu.assertEquals(one, "x.score - abs(x.distance)")
  lu.assertEquals(formula("return x.score - abs(x.key_index - x.query_index)"), one)
  lu.assertEquals(formula("return x.score + x.layers + x.layer"), "x.score + 2 + x.layer")
end

function TestTracing.test_drawn_distances_are_not_the_indices_difference()
  local random = RANDOM:format("")
  local random_score = formula("return x.score - abs(x.distance)", random)
  local raw = formula("return x.score - abs(x.key_index - x.query_index)", random)
  lu.assertEquals(random_score, "x.score - abs(x.distance)")
  lu.assertEquals(raw, "x.score - abs((x.key_index - x.query_index))")
  lu.assertEquals(formula("return x.score + x.key_index + x.query_index", random):find("x.total", 1, true), nil)
  for _, symbol in ipairs({ "query", "key" }) do
    local text = refuse(("score = function(x) return x.score + x.%s end, %s"):format(symbol, random),
      ("x.%s is not defined if distances are sampled"):format(symbol))
    lu.assertStrContains(text, 'encoding.positions.reading = "difference"')
  end
end

function TestTracing.test_other_uses_of_traced_values_are_refused()
  for body, message in pairs({
    ["return x.score .. 1"] = "`..` joins texts", ["return #x.score"] = "`#` of a traced value",
    ["return x.score(1)"] = "a traced number is called", ["return x.score.a"] = "a traced number has no fields",
    ["return x.score[1]"] = "a traced number has no fields", ["x.score.a = 1 return 1"] = "a field of a traced number",
    ["x.score = 1 return 1"] = "x is changed", ["return x(1)"] = "x is called", ["return x + 1"] = "+ takes x itself",
    ["return abs(x)"] = "abs takes x itself", ["return x.score & 1"] = "`&` of a traced value",
    ["return x.score | 1"] = "`|` of", ["return x.score ~ 1"] = "`~` of", ["return ~x.score"] = "`~` of",
    ["return x.score << 1"] = "`<<` of", ["return x.score >> 1"] = "`>>` of",
    ["return x[1]"] = "unknown symbol x.[...]",
    ["return x.score + less(x.distance, 1)"] = "add of a truth value",
    ["return x.score + select(x.distance, 1, 2)"] = "select takes a number for a truth value",
    ["return x.score + sum(x.distance, abs)"] = "a traced value is no number of terms",
    ["return x.score + bucket(x.distance, x)"] = "bucket has no list of edges",
    ["return x.score + '1'"] = '+ takes "1" for a number', ["return x.score + {}"] = "+ takes a table for a number",
    ["return x.score + 1 / 0"] = "+ takes inf", ["return x.score + nil"] = "+ takes nothing (nil)",
    ["return x"] = "the function returns x itself", ["return 'x'"] = "the function returns no number",
    ["return 5"] = "the score does not use x.score", ["return x.score * 0"] = "the score does not use x.score",
    ["return x.score"] = "the formula comes out as x.score itself",
    ["for i = 1, x.distance do end return x.score"] = "x.heads and x.layers are such",
    ["return x.score + log(x.distance)"] = "log", ["return x.score / x.distance"] = "divisor",
    ["return x.score + pow(10, 400)"] = "pow(10, 400) is not a finite number",
  }) do
    local text = refuse("score = function(x) " .. body .. " end", message)
    lu.assertStrContains(text, "probe.lua:1:")
    lu.assertStrContains(text, "error: encoding.score: ")
    lu.assertNotStrContains(text, "traceback")
  end
  refuse("score = function(x) return x.bias end, " .. TABLE, "returns a whole table")
  for _, body in ipairs({ "x.bias * 2", "abs(x.bias)", "x.bias[1]", "x.bias(1)", "x.bias.a", "-x.bias" }) do
    refuse("score = function(x) return x.score + " .. body .. " end, " .. TABLE,
      "x.bias has 5 values: read one with lookup(x.bias, index)")
  end
end

function TestTracing.test_comparisons_are_refused_even_where_no_word_stands()
  local builder = ir.new({ heads = 1, layers = 1, positions = "index" })
  local x = traced.begin({ builder = builder, heads = 1, layers = 1, parameters = {} })
  for _, compare in ipairs({ function() return x.score < 1 end, function() return x.score <= 1 end,
    function() return x.score == x.head end }) do
    local ok, err = pcall(compare)
    lu.assertFalse(ok)
    lu.assertStrContains(err.what, "compared")
  end
  traced.finish()
end

function TestTracing.test_x_belongs_to_its_function()
  refuse("score = { function(x) keep[1] = x return 2 * x.score end, function() return keep[1].score + 1 end }",
    "x is used outside the function that it was given to", nil, "local keep = {}\n")
end

function TestTracing.test_mistakes_have_their_line_and_word()
  local function check_position(head, body, place)
    refuse("score = function(x)\n" .. body .. "\nend", "probe.lua:" .. place .. ": error: encoding.score", nil, head)
  end
  check_position("", "local a = 1\nreturn x.score + sqrt(-1)", "3:18")
  check_position("", "return log(-abs(x.score) - 1)", "2:8") -- a call replaces its caller
  check_position("local function bad(a)\n  return log(a)\nend\n", "return x.score + bad(-1)", "2:10")
  check_position("local function bad(a)\n  return a / 0\nend\n", "return 1 + bad(x.score)", "2:12")
  check_position("", "return x.score + sum(2, function(m)\n  return m / 0\nend)", "3:12")
end

function TestTracing.test_limits_hold_while_tracing()
  local limits = { sandbox.INSTRUCTIONS, sandbox.MEMORY }
  sandbox.INSTRUCTIONS, sandbox.MEMORY = 200000, 16 * 1024
  for body, message in pairs({
    ["for i = 1, 1e15 do end return x.score"] = "still running after 200000 instructions",
    ["local s = 'x' for i = 1, 99 do s = s .. s end return x.score"] = "uses more than 16 MB",
    ["local function f(a) return 1 + f(a) end return f(1)"] = "", -- the reached limit depends on their sizes
  }) do
    refuse("score = function(x) " .. body .. " end", message)
  end
  sandbox.INSTRUCTIONS, sandbox.MEMORY = table.unpack(limits)
  lu.assertEquals(("strings have their methods"):upper(), "STRINGS HAVE THEIR METHODS")
  lu.assertNil(debug.gethook())
end

-- Any operation that crosses the limit reports it; the builder's own limit is never reached.
function TestTracing.test_large_formulas_are_reported_at_any_operation()
  for _, step in ipairs({ "pow(s, 1.5 + i)", "select(less(s, i), s + i, s - 2 * i)", "s / (i + abs(s))",
    "s + lookup(x.bias, x.distance + i)" }) do
    refuse("score = function(x) local s = x.score for i = 1, 2000 do s = " .. step .. " end return s end, " .. TABLE,
      "more than 2048 operations")
  end
end

function TestTracing.test_strings_have_no_methods()
  refuse("score = function(x) return x.score + ('2'):rep(2) end", "attempt to index a string value")
end

TestParameters = {}

-- A parameter of a spec in the planner's form.
local function parameter(text, use)
  local resolved, info = accept(("score = function(x) return x.score + %s end, parameters = { p = %s }"):format(
    use or "x.p * x.head", text))
  return resolved.encoding.parameters.p, info.score.parameters[1]
end

local LOOKUP = "lookup(x.p, mod(x.distance, 3))"

function TestParameters.test_forms()
  lu.assertEquals(parameter("4"), { per = "model", learned = false, values = { 4.0 } })
  lu.assertEquals(parameter("{ values = 4, per = 'head' }"),
    { per = "head", learned = false, values = { 4.0, 4.0, 4.0, 4.0 } })
  lu.assertEquals(parameter("{ per = 'head', values = { 1, 2, 3, 4 } }").values, { 1, 2, 3, 4 })
  lu.assertEquals(parameter("{ init = 2 }"), { per = "model", learned = true, init = 2.0 })
  lu.assertEquals(parameter("{ init = 2, learned = false }"), { per = "model", learned = false, values = { 2.0 } })
  lu.assertEquals(parameter("{ per = 'layer_head', init = { normal = 2 } }"),
    { per = "layer_head", learned = true, init = { kind = "normal", sigma = 2.0 } })
  lu.assertEquals(parameter("{ init = { truncated_normal = 0.5 } }").init, { kind = "truncated_normal", sigma = 0.5 })
  lu.assertEquals(parameter("{ per = 'head', init = 'alibi_slopes' }"),
    { per = "head", learned = true, values = { 0.25, 0.0625, 0.015625, 0.00390625 } })
  lu.assertEquals(parameter("{ shape = 3, init = 0 }", LOOKUP),
    { per = "model", size = 3, first = 0, learned = true, init = 0.0 })
  lu.assertEquals(parameter("{ index = { -1, 2 }, values = 1, outside = 'clip' }", "lookup(x.p, x.distance)"),
    { per = "model", size = 4, first = -1, learned = false, values = { 1, 1, 1, 1 }, outside = "clip" })
  lu.assertEquals(parameter("{ index = { -1, 2 }, init = 1, outside = -2.5 }", "lookup(x.p, x.distance)").outside, -2.5)
end

function TestParameters.test_lists_are_spread_over_heads_and_indices()
  local function values(list)
    return parameter("{ per = 'head', shape = 3, values = " .. list .. " }", LOOKUP).values
  end
  lu.assertEquals(values("{ 7 }"), { 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 })
  lu.assertEquals(values("{ 1, 2, 3 }"), { 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3 })
  lu.assertEquals(values("{ 1, 2, 3, 4 }"), { 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4 })
  lu.assertEquals(values("{ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }"), { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 })
  local _, p = parameter("{ per = 'layer', shape = 3, init = { 1, 2, 3 } }", LOOKUP)
  lu.assertEquals({ p.values, p.init, p.learned, p.first }, { { 1.0, 2.0, 3.0 }, nil, true, 0 })
end

function TestParameters.test_constants_of_the_model_are_written_into_the_formula()
  local resolved, info = accept("score = function(x) return x.score - x.width * x.head end, parameters = { width = 4 }")
  lu.assertEquals(resolved.encoding.score, "x.score - 4 * x.head")
  lu.assertEquals(info.score.parameters, {})
  lu.assertEquals(resolved.encoding.parameters.width.values, { 4.0 })
end

-- Press et al. 2022: powers of two; in between every other slope of the next power.
function TestParameters.test_alibi_slopes()
  lu.assertEquals(parameters.alibi_slopes(8), { 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256 })
  lu.assertEquals(parameters.alibi_slopes(1), { 1 / 256 })
  local twelve = parameters.alibi_slopes(12)
  lu.assertEquals(#twelve, 12)
  for i, exponent in ipairs({ 1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5 }) do
    lu.assertAlmostEquals(twelve[i], 2 ^ -exponent, 1e-15)
  end
end

function TestParameters.test_lists_that_fit_nothing_name_the_lengths()
  refuse("score = function(x) return x.score + " .. LOOKUP .. " end, "
    .. "parameters = { p = { shape = 3, per = 'head', init = { 1, 2 } } }",
    "expected: a list of 1 (for all), 3 (its values), 4 (one per head) or 12 (4 heads x 3 values: head after head)\n")
  refuse("score = function(x) return x.score + x.p end, parameters = { p = { 1, 2 } }",
    "encoding.parameters.p: the list has 2 values")
  refuse("score = function(x) return x.score + x.p end, parameters = { p = { values = { { 1 } } } }",
    "encoding.parameters.p.values[1]: a table is no number")
end

TestEntries = {}

function TestEntries.test_lists_apply_in_order()
  local resolved, info = accept("score = { { use = 'alibi' }, { use = 'window', width = 3 }, "
    .. "{ score = function(x) return x.score * x.slope end, parameters = { slope = { per = 'layer', init = 1 } } }, "
    .. "function(x) return 2 * x.score end }")
  lu.assertEquals(resolved.encoding.score, "2 * ((x.score + x.slope * (select(less(x.distance, 0), 0.5, 0) - "
    .. "abs(x.distance)) - select(less_equal(abs(x.distance), 3), 0, 10000)) * x.slope_2)")
  local names = {}
  for i, p in ipairs(info.score.parameters) do
    names[i] = p.name .. " " .. p.per
  end
  lu.assertEquals(names, { "slope head", "slope_2 layer" })
  lu.assertEquals(resolved.encoding.parameters.width.values, { 3.0 })
  lu.assertEquals(info.origins["encoding.parameters.width"]:match("^probe.lua:1:"), "probe.lua:1:")
end

function TestEntries.test_one_entry_is_a_score_with_parameters()
  local expected_encoding = accept("score = { use = 'window', width = 3 }").encoding
  lu.assertEquals(expected_encoding.score, "x.score - select(less_equal(abs(x.distance), 3), 0, 10000)")
  for _, text in ipairs({ "score = { { use = 'window', width = 3 } }", "use = 'window', parameters = { width = 3 }",
    "kind = 'window', parameters = { width = { values = 3 } }",
    "score = { use = 'window', parameters = { width = 3 } }",
    "score = { use = 'window' }, parameters = { width = 3 }" }) do
    lu.assertEquals(accept(text).encoding, expected_encoding, text)
  end
end

function TestEntries.test_three_of_a_name()
  local entry = "{ score = function(x) return x.score + x.a end, parameters = { a = { init = 0 } } }"
  lu.assertEquals(accept(("score = { %s, %s, %s }"):format(entry, entry, entry)).encoding.score,
    "x.score + x.a + x.a_2 + x.a_3")
  local taken = entry:gsub("%f[%w]a%f[%W]", "a_2")
  lu.assertEquals(accept(("score = { %s, %s, %s }"):format(entry, taken, entry)).encoding.score,
    "x.score + x.a + x.a_2 + x.a_3")
end

function TestEntries.test_entries_may_come_from_a_user_s_files()
  support.write("mine/two.lua", "return { encoding = { score = { { use = 'alibi' }, { use = './one.lua', b = 5 } } } }")
  support.write("mine/one.lua", "return { encoding = { score = function(x) return x.score * x.b end, "
    .. "parameters = { b = 2 } } }")
  lu.assertStrContains(accept("score = { { use = './mine/two.lua' }, { use = './mine/one.lua' } }").encoding.score, "5")
  refuse("score = { use = './mine/two.lua', b = 3 }", "is a list of scores, and cannot be changed here")
  support.write("mine/cycle.lua", "return { encoding = { score = { use = './cycle.lua' } } }")
  refuse("score = { { use = './mine/cycle.lua' }, { use = 'alibi' } }",
    "uses itself: mine/cycle.lua -> mine/cycle.lua")
end

function TestEntries.test_an_error_in_a_preset_is_reported_there()
  support.write("mine/bad.lua", "return { encoding = {\n  score = function(x)\n    return x.score + x.slop\n  end } }")
  local text = refuse("score = { { use = 'alibi' }, { use = './mine/bad.lua' } }", "unknown symbol x.slop")
  lu.assertStrContains(text, "mine/bad.lua:3:24: error: encoding.score[2]: ")
end

function TestEntries.test_another_score_drops_inherited_parameters()
  local resolved = accept("use = 'alibi', score = function(x) return 2 * x.score end")
  lu.assertEquals(resolved.encoding.score, "2 * x.score")
  lu.assertNil(resolved.encoding.parameters)
  resolved = accept("use = 'alibi', score = function(x) return x.score * x.slope end")
  lu.assertEquals(resolved.encoding.parameters.slope.values, { 0.25, 0.0625, 0.015625, 0.00390625 })
  resolved = accept("use = 'alibi', score = { { use = 'window' }, { use = 'cyclic' } }")
  lu.assertNil(resolved.encoding.parameters.slope)
  refuse("use = 'alibi', score = function(x) return 2 * x.score end, parameters = { width = 3 }",
    "parameter width is not used")
  support.write("base.lua", HEAD .. "kind = 'alibi' } }")
  resolved = support.check_text("return { use = './base.lua', "
    .. "encoding = { score = function(x) return 2 * x.score end } }")
  lu.assertEquals(resolved.encoding.score, "2 * x.score")
end

function TestEntries.test_inherited_parameters_change_one_by_one()
  local slope = accept("use = 'alibi', parameters = { slope = { init = 1 } }").encoding.parameters.slope
  lu.assertEquals(slope, { per = "head", learned = true, init = 1.0 })
  slope = accept("use = 'alibi_learned', parameters = { slope = { 1, 2, 3, 4 } }").encoding.parameters.slope
  lu.assertEquals(slope, { per = "head", learned = false, values = { 1, 2, 3, 4 } })
  slope = accept("use = 'alibi_learned', parameters = { slope = { per = 'layer_head' } }").encoding.parameters.slope
  lu.assertEquals({ slope.per, slope.learned }, { "layer_head", true })
end

function TestEntries.test_the_command_line_sets_parameters()
  local sets = set("encoding.parameters.width", "4")
  for _, text in ipairs({ "use = 'window'", "score = { use = 'window', width = 3 }", "kind = 'window'",
    "use = 'window', parameters = { width = 3 }" }) do
    local resolved, info = accept(text, sets)
    lu.assertStrContains(resolved.encoding.score, "abs(x.distance), 4)")
    lu.assertEquals(info.origins["encoding.parameters.width"], "--set encoding.parameters.width=4")
  end
  lu.assertStrContains(accept("use = 'alibi'", set("encoding.score", "{ use = 'window', width = 5 }")).encoding.score,
    "5")
  refuse("use = 'alibi'", "5 does not fit here", set("encoding.score", "5"))
  refuse("use = 'alibi'", "hint: a function cannot come from the command line; a preset can",
    set("encoding.score", "function(x) return 2 * x.score end"))
  refuse("use = 'alibi'", "a function cannot come from the command line",
    set("encoding.score", "{ function(x) return 2 * x.score end }"))
  refuse("use = 'alibi'", "parameter width is not used", sets)
end

TestResolved = {}

function TestResolved.test_random_positions_are_used_by_a_score_that_reads_them()
  local random = RANDOM:format("")
  for text, used in pairs({ ["abs(x.distance)"] = true, ["x.query_index"] = false, ["x.head"] = false,
    ["x.key_index - x.query_index"] = false }) do
    local resolved, info = accept(("score = function(x) return x.score - (%s) end, %s"):format(text, random))
    lu.assertEquals(resolved.encoding.positions.draw, used and "layer" or "pass", text)
    lu.assertEquals(#info.warnings, used and 0 or 1, text)
  end
  local resolved = accept("use = 'alibi', " .. RANDOM:format(", draw = 'pass'"))
  lu.assertEquals(resolved.encoding.positions.draw, "pass")
end

function TestResolved.test_print_shows_formula_and_parameters()
  local resolved, info = accept("score = { { use = 'alibi_learned' }, { use = 't5' }, { use = 'window' } }")
  local text = resolved_spec.text(resolved, info.origins)
  lu.assertStrContains(text, "encoding.score ", nil)
  lu.assertStrContains(text, "= " .. resolved.encoding.score .. " ")
  lu.assertStrContains(text, "per head, learned from { 0.25, 0.0625, 0.015625, 0.00390625 }")
  lu.assertStrContains(text, "per head, index 0 to 31, learned from normal(0.125)")
  lu.assertStrContains(text, "per model, constant { 8 }")
  lu.assertStrContains(text, "spec/encodings/t5.lua:55:18")
  lu.assertEquals(text, resolved_spec.text(resolved, info.origins))
end

function TestResolved.test_the_same_spec_gives_the_same_formula()
  local text = "score = { { use = 'fire' }, { use = 'kerple_power' }, { use = 't5' } }"
  local first, again = accept(text), accept(text)
  lu.assertEquals(first, again)
end

TestGraphs = {}

local function make_plan(body)
  local resolved, info = accept("score = function(x) " .. body .. " end, " .. SLOPE:gsub("slope", "a"))
  local facts = { kind = "bucket_sort", input_symbols = { "a", "b" }, output_symbols = { "a", "b" },
    input_length = "n", output_length = "n", chance = 0.5 }
  return plan_module.build(resolved, { task = facts, score = info.score })
end

-- Formulas that are small as graphs, but would be too large as trees.
function TestGraphs.test_formulas_are_walked_as_graphs()
  for _, body in ipairs({
    "local s = x.score for i = 1, 100 do s = s * s end return s + x.a",
    "local s = x.score for i = 1, 60 do s = s + sin(s) * cos(s) end return s + x.a",
    "local s = x.score for i = 1, 60 do s = -(sin(s) * cos(s)) end return s + x.a",
    "local t = x.a * x.distance for i = 1, 60 do t = t * t + sin(t) end return x.score + t",
    "local t = less(x.query, x.key) for i = 1, 60 do t = any(all(t, less(i * x.query, x.key)), negate(t)) end "
      .. "return x.score + select(t, x.a, 1)",
    "local s = x.score for i = 1, 200 do s = tanh(s) * x.a + i end return s",
  }) do
    local plan, problem = make_plan(body)
    lu.assertTrue(plan ~= nil, problem and problem.what)
    lu.assertTrue(#plan.attentions[1].score.formula < 30000, body)
  end
end

-- A chain that is too long for a line gets local names from its far end, in linear time.
function TestGraphs.test_long_chains_become_python_in_linear_time()
  local _, info = accept("score = function(x) local s = x.score for i = 1, 500 do s = tanh(s) * x.a + i end "
    .. "return s end, parameters = { a = { init = 1 } }")
  local began = os.clock()
  local lines = require("expression.torch").formula(info.score.root).lines
  lu.assertTrue(#lines > 500)
  lu.assertTrue(os.clock() - began < 4, "the whole chain for each of its names")
end

function TestGraphs.test_gradients_have_a_limit_too()
  local limit = ir.DERIVED
  ir.DERIVED = 300
  local plan, problem = make_plan("local s = x.score for i = 1, 20 do s = s * tanh(s) * x.a end return s")
  ir.DERIVED = limit
  lu.assertNil(plan)
  lu.assertEquals({ problem.field, problem.what },
    { "encoding.score", "the formula and its gradients come to more than 300 operations" })
end

function TestGraphs.test_parameters_have_a_limit_together()
  local list, uses = {}, {}
  for i = 1, 40 do
    list[i] = ("t%d = { shape = 16384, per = 'layer_head', init = 1 }"):format(i)
    uses[i] = ("lookup(x.t%d, 0)"):format(i)
  end
  refuse("score = function(x) return x.score + " .. table.concat(uses, " + ") .. " end, parameters = { "
    .. table.concat(list, ", ") .. " }", "the parameters have more than 1048576 values together")
end

TestScoreDigests = {}

local function digests(encoding)
  local facts = { kind = "bucket_sort", input_symbols = { "a", "b" }, output_symbols = { "a", "b" },
    input_length = "n", output_length = "n", chance = 0.5, baseline = 0.5, baseline_name = "guess" }
  local plan = assert(plan_module.build(accept(encoding), { task = facts }))
  return plan.digest, plan.model_digest
end

function TestScoreDigests.test_changes_of_a_score_and_its_digest()
  local score_text = "score = function(x) return x.score - x.a * %s end, parameters = { a = { %s } }"
  local plan, model = digests(score_text:format("x.head", "per = 'head', init = 1"))
  for _, case in ipairs({
    { score_text:format("x.layer", "per = 'head', init = 1"), true, true },
    { score_text:format("x.head", "per = 'layer_head', init = 1"), true, true },
    { score_text:format("x.head", "per = 'head', init = 2"), true, false },
    { score_text:format("x.head", "per = 'head', values = 1"), true, true },
    { "score = function(x) local b = x.a return x.score - b * x.head end, parameters = { a = { init = 1, "
      .. "per = 'head' } }", false, false },
  }) do
    local other_plan, other_model = digests(case[1])
    lu.assertEquals({ other_plan ~= plan, other_model ~= model }, { case[2], case[3] }, case[1])
  end
end

TestPresets = {}

local FORMULAS = {
  alibi = "x.score + x.slope * (select(less(x.distance, 0), 0.5, 0) - abs(x.distance))",
  cyclic = "x.score + lookup(x.bias, mod(x.distance, 3))",
  distance_table = "x.score + lookup(x.bias, min(max(x.distance, -64), 64))",
  pair_table = "x.score + lookup(x.bias, 64 * min(x.query_index, 63) + min(x.key_index, 63))",
  kerple_log = "x.score - exp(x.log_p) * log1p(exp(x.log_a) * abs(x.distance))",
  t5 = "x.score + lookup(x.bias, bucket(abs(x.distance), { 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91 }) + "
    .. "select(less(0, x.distance), 16, 0))",
  window = "x.score - select(less_equal(abs(x.distance), 8), 0, 10000)",
}

-- Presets for a grid of 16 cells: test_latin_encodings.lua.
local OF_CELLS = { lst_2d = true, lst_2d_clean = true, lst_learned = true, lst_random = true }

function TestPresets.test_every_preset_is_valid_on_its_own_and_where_distances_are_drawn()
  local count = 0
  for entry in lfs.dir("spec/encodings") do
    local name = entry:match("^(.*)%.lua$")
    if name and not OF_CELLS[name] and not name:find("^abc_") then -- presets for encoder-decoders: test_masks.lua
      local resolved = accept(("use = %q"):format(name))
      accept(("use = %q, positions = { kind = 'randomized' }"):format(name))
      lu.assertEquals(resolved.encoding.score, FORMULAS[name] or resolved.encoding.score)
      count = count + (resolved.encoding.score and 1 or 0)
    end
  end
  lu.assertEquals(count, 14)
end

-- T5's own formula, in floats: 8 + floor(log(n / 8) / log(16) * 8), at most 15.
function TestPresets.test_t5_buckets_are_t5_s()
  local edges = {}
  for edge in FORMULAS.t5:match("{(.-)}"):gmatch("%d+") do
    edges[#edges + 1] = tonumber(edge)
  end
  for n = 0, 300 do
    local count = 0
    for _, edge in ipairs(edges) do
      count = count + (edge <= n and 1 or 0)
    end
    local expected_encoding = n < 8 and n or math.min(15, 8 + math.floor(math.log(n / 8) / math.log(16) * 8 + 1e-9))
    lu.assertEquals(count, expected_encoding, n)
  end
end

support.run()
