-- Formulas of score functions: functions of plain numbers, tracing of a score function by expression/traced, refused
-- uses of traced values, and limits of formulas. tests/golden/errors/score_* have refused functions and their messages.

local support = dofile("tests/lua/support.lua")
local ir = require("expression.ir")
local lu = require("luaunit")
local plans = require("plans")
local sandbox = require("spec.reading.sandbox")
local traced = require("expression.traced")
local score_specs = require("score_specs")

local accept, refuse, trace_formula = score_specs.accept, score_specs.refuse, score_specs.trace_formula
local TABLE, SLOPE, RANDOM = score_specs.TABLE, score_specs.SLOPE, score_specs.RANDOM

TestPlain = {}

-- The value of an expression without traced values.
local function compute(text)
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
    lu.assertEquals(compute(text) + 0.0, value + 0.0, text)
  end
end

function TestPlain.test_small_arguments_keep_their_digits()
  lu.assertAlmostEquals(compute("log1p(1e-12)"), 1e-12 - 5e-25, 1e-27)
  lu.assertAlmostEquals(compute("tanh(1e-9)"), 1e-9, 1e-24)
  lu.assertEquals(compute("tanh(1000)"), 1)
  lu.assertEquals(compute("tanh(-1000)"), -1)
end

function TestPlain.test_undefined_values_are_refused()
  for text, message in pairs({
    ["log(-1)"] = "log(-1) is not a finite number", ["log(0)"] = "log(0) is not", ["sqrt(-4)"] = "sqrt(-4) is not",
    ["exp(1000)"] = "exp(1000) is not", ["mod(3, 0)"] = "mod(3, 0) is not", ["abs(1 / 0)"] = "abs was given inf",
    ["abs(0 / 0)"] = "abs was given NaN", ["min(1)"] = "min has 1 argument", ["abs(1, 2)"] = "abs has 2 arguments",
    ["abs({})"] = "abs was given a table instead of a number", ["abs(nil)"] = "abs was given nothing (nil)",
    ["abs('1')"] = 'abs was given "1" instead of a number', ["abs(less(1, 2))"] = "abs was given a truth value",
    ["negate(1)"] = "negate was given a number instead of a truth value", ["all(less(1, 2))"] = "all has 1 argument",
    ["bucket(1, { 2, 1 })"] = "edge 2 (1) is not larger than edge 1 (2)",
    ["bucket(1, {})"] = "bucket has no list of edges",
    ["sum(0, function() return 1 end)"] = "0 is not a number of terms", ["sum(2, 3)"] = "sum has no function",
    ["sum(2, function() end)"] = "sum was given nothing (nil)", ["lookup({}, 1)"] = "its first argument is a table",
    ["absolute(1)"] = '"absolute" is not defined', ["sqr(1)"] = '"sqr" is not defined',
  }) do
    local value, problem = sandbox.run("return { " .. text .. " }")
    lu.assertNil(value, text)
    lu.assertStrContains(problem.what, message)
    lu.assertIsString(problem.expected, text)
  end
  local _, problem = sandbox.run("return { sqr(1) }")
  lu.assertEquals(problem.hint, "did you mean sqrt?")
  _, problem = sandbox.run("return { softplus(1) }")
  lu.assertEquals({ problem.what, problem.hint }, { '"softplus" is not defined; a spec has no I/O and no library',
    "write -log_sigmoid(-x), which is log(1 + exp(x)) without its overflow" })
end

function TestPlain.test_the_functions_cannot_be_replaced()
  for _, text in ipairs({ "abs = 3 return {}", "_ENV.abs = 3 return {}", "function abs() end return {}" }) do
    lu.assertStrContains(select(2, sandbox.run(text)).what, '"abs" is set as a global')
  end
  lu.assertEquals(compute("abs(-1)"), 1)
end

TestTracing = {}

function TestTracing.test_operators_become_formulas()
  lu.assertEquals(trace_formula("return x.score + 2 * x.query_length"), "x.score + 2 * x.query_length")
  lu.assertEquals(trace_formula("return x.score - x.slope * abs(x.distance)", SLOPE),
    "x.score - x.slope * abs(x.distance)")
  lu.assertEquals(trace_formula("return -x.score / x.key_length"), "-(x.score / x.query_length)")
  lu.assertEquals(trace_formula("return x.score ^ 2"), trace_formula("return x.score * x.score"))
  lu.assertEquals(trace_formula("return x.score + x.distance % 3"), "x.score + mod(x.distance, 3)")
  lu.assertEquals(trace_formula("return x.score + x.distance // 3"),
    trace_formula("return x.score + floor(x.distance / 3)"))
  lu.assertStrContains(trace_formula("return x.score + x.distance // 3"), "floor(")
end

function TestTracing.test_functions_become_formulas()
  for _, call in ipairs({ "exp(x.slope)", "log1p(abs(x.distance))", "sqrt(abs(x.distance))", "tanh(x.slope)",
    "sigmoid(x.slope)", "erf(x.slope)", "sin(x.distance)", "cos(x.distance)", "pow(x.query_length, x.slope)",
    "select(less(x.distance, 0), x.slope, 1)", "min(x.slope, 1)", "log(x.query_length)", "floor(x.slope)",
    "bucket(x.distance, { 0, 3 })", "max(x.slope, x.head)", "min(max(x.slope, 0), x.head)" }) do
    local slope_term = call:find("slope") and "" or " + x.slope"
    lu.assertStrContains(trace_formula("return x.score + " .. call .. slope_term, SLOPE), call)
  end
  lu.assertEquals(trace_formula("return x.score + min(x.distance, 3, x.head)"),
    "x.score + min(min(x.distance, 3), x.head)")
end

function TestTracing.test_truth_values_become_masks()
  local function read_condition(text)
    return trace_formula("return x.score + select(" .. text .. ", 1, 2)"):match("select%((.*), 1, 2%)") or "decided"
  end
  lu.assertEquals(read_condition("less_equal(x.distance, 3)"), "less_equal(x.distance, 3)")
  lu.assertEquals(read_condition("all(less(x.distance, 3), less(x.head, 2), equal(x.layer, 1))"),
    "all(all(less(x.distance, 3), less(x.head, 2)), equal(x.layer, 1))")
  lu.assertEquals(read_condition("any(less(x.distance, 3), less(2, 1))"), "less(x.distance, 3)")
  lu.assertEquals(read_condition("all(less(x.distance, 3), less(2, 1))"), "decided")
  lu.assertEquals(read_condition("any(less(1, 2), less(x.distance, 3))"), "decided")
  lu.assertEquals(trace_formula("return x.score + select(negate(less(x.distance, 3)), 1, 2)"),
    "x.score + select(less(x.distance, 3), 2, 1)")
end

function TestTracing.test_sums_become_formulas()
  lu.assertEquals(trace_formula("return x.score + sum(3, function(m) return x.slope * m end)", SLOPE),
    "x.score + sum(3, i: x.slope * i)")
  lu.assertEquals(trace_formula("return x.score + x.slope * sum(4, function(m) return m * m end)",
    SLOPE):match("sum.*"),
    "sum(4, i: i * i)")
  local inner = trace_formula("return x.score + sum(2, function(m) "
    .. "return sum(3, function(n) return x.slope * m * n end) end)", SLOPE)
  lu.assertStrContains(inner, "sum(2, i: sum(3, i1: ")
  lu.assertEquals(trace_formula("return x.score + sum(3, function() return 2 end)"), "x.score + 6")
end

function TestTracing.test_loops_and_helpers_of_the_file()
  lu.assertEquals(trace_formula("local s = x.score for h = 1, x.heads do s = s + x.head end return s"),
    trace_formula("local s = x.score + x.head return s + x.head + x.head + x.head"))
  local head = "local rate = sqrt(16)\nlocal function far(x, a) return a * abs(x.distance) end\n"
  lu.assertEquals(trace_formula("return x.score - far(x, rate)", nil, head), "x.score - 4 * abs(x.distance)")
end

function TestTracing.test_symbols_of_index_positions_are_the_indices()
  local formula = trace_formula("return x.score - abs(x.key - x.query)")
  lu.assertEquals(formula, "x.score - abs(x.distance)")
  lu.assertEquals(trace_formula("return x.score - abs(x.key_index - x.query_index)"), formula)
  lu.assertEquals(trace_formula("return x.score + x.layers + x.layer"), "x.score + 2 + x.layer")
end

function TestTracing.test_sampled_distances_are_no_differences_of_indices()
  local random = RANDOM:format("")
  local random_score = trace_formula("return x.score - abs(x.distance)", random)
  local formula = trace_formula("return x.score - abs(x.key_index - x.query_index)", random)
  lu.assertEquals(random_score, "x.score - abs(x.distance)")
  lu.assertEquals(formula, "x.score - abs((x.key_index - x.query_index))")
  lu.assertEquals(trace_formula("return x.score + x.key_index + x.query_index", random):find("x.total", 1, true), nil)
  for _, symbol in ipairs({ "query", "key" }) do
    local text = refuse(("score = function(x) return x.score + x.%s end, %s"):format(symbol, random),
      ("x.%s is not defined if distances are sampled"):format(symbol))
    lu.assertStrContains(text, 'encoding.positions.reading = "difference"')
  end
end

function TestTracing.test_scores_have_one_argument()
  local text = refuse("score = function(score, b, h, q_idx, kv_idx) return score - (q_idx - kv_idx) end",
    "encoding.score: the function has 5 arguments, score, b, h, q_idx, kv_idx")
  lu.assertStrContains(text, "hint: for FlexAttention's score, b, h, q_idx, kv_idx write x.score, x.head")
  text = refuse("score = function(x, y) return x.score + y end", "the function has 2 arguments, x, y")
  lu.assertNotStrContains(text, "FlexAttention")
end

function TestTracing.test_other_uses_of_traced_values_are_refused()
  for body, message in pairs({
    ["return x.score .. 1"] = "`..` joins texts", ["return #x.score"] = "`#` of a traced value",
    ["return x.score(1)"] = "a traced number is called", ["return x.score.a"] = "a traced number has no fields",
    ["return x.score[1]"] = "a traced number has no fields", ["x.score.a = 1 return 1"] = "a field of a traced number",
    ["x.score = 1 return 1"] = "x is changed", ["return x(1)"] = "x is called",
    ["return x + 1"] = "+ was given x itself",
    ["return abs(x)"] = "abs was given x itself", ["return x.score & 1"] = "`&` of a traced value",
    ["return x.score | 1"] = "`|` of", ["return x.score ~ 1"] = "`~` of", ["return ~x.score"] = "`~` of",
    ["return x.score << 1"] = "`<<` of", ["return x.score >> 1"] = "`>>` of",
    ["return x[1]"] = "unknown symbol x.[...]",
    ["return x.score + less(x.distance, 1)"] = "add of a truth value",
    ["return x.score + select(x.distance, 1, 2)"] = "select was given a number instead of a truth value",
    ["return x.score + sum(x.distance, abs)"] = "a traced value is not a number of terms",
    ["return x.score + bucket(x.distance, x)"] = "bucket has no list of edges",
    ["return x.score + '1'"] = '+ was given "1" instead of a number',
    ["return x.score + {}"] = "+ was given a table instead of a number",
    ["return x.score + 1 / 0"] = "+ was given inf", ["return x.score + nil"] = "+ was given nothing (nil)",
    ["return x"] = "the function returns x itself", ["return 'x'"] = "the function does not return a number",
    ["return 5"] = "the score does not use x.score", ["return x.score * 0"] = "the score does not use x.score",
    ["return x.score"] = "the formula simplifies to x.score itself",
    ["for i = 1, x.distance do end return x.score"] = "such as x.heads and x.layers",
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

-- The sandbox refuses `<` in a function's text; comparisons that it does not see raise an error.
function TestTracing.test_comparisons_of_traced_values_are_refused()
  local builder = ir.new({ heads = 1, layers = 1, positions = "index" })
  local x = traced.begin({ builder = builder, heads = 1, layers = 1, parameters = {} })
  for _, compare in ipairs({ function() return x.score < 1 end, function() return x.score <= 1 end,
    function() return x.score == x.head end }) do
    local is_ok, err = pcall(compare)
    lu.assertFalse(is_ok)
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
  check_position("", "return log(-abs(x.score) - 1)", "2:8") -- a tail call replaces the frame of its caller
  check_position("local function bad(a)\n  return log(a)\nend\n", "return x.score + bad(-1)", "2:10")
  check_position("local function bad(a)\n  return a / 0\nend\n", "return 1 + bad(x.score)", "2:12")
  check_position("", "return x.score + sum(2, function(m)\n  return m / 0\nend)", "3:12")
end

function TestTracing.test_limits_hold_while_tracing()
  support.replace_fields({ { sandbox, "INSTRUCTIONS", 200000 }, { sandbox, "MEMORY", 16 * 1024 } }, function()
    for body, message in pairs({
      ["for i = 1, 1e15 do end return x.score"] = "the code still runs after 200000 instructions",
      ["local s = 'x' for i = 1, 99 do s = s .. s end return x.score"] = "uses more than 16 MB",
      ["local function f(a) return 1 + f(a) end return f(1)"] = "", -- one of several limits is reached
    }) do
      refuse("score = function(x) " .. body .. " end", message)
    end
  end)
  -- Tracing removes the methods of strings, and restores them in the end.
  lu.assertEquals(("strings have their methods"):upper(), "STRINGS HAVE THEIR METHODS")
  lu.assertNil(debug.gethook())
end

-- The limit on a formula's operations is reported at any operation that exceeds it.
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

TestGraphs = {}

local function plan_score(body)
  local resolved, info = accept("score = function(x) " .. body .. " end, " .. SLOPE:gsub("slope", "a"))
  return plans.build(resolved, nil, nil, info.score)
end

-- These formulas are small as graphs, and would be too large as trees.
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
    local plan, problem = plan_score(body)
    lu.assertTrue(plan ~= nil, problem and problem.what)
    lu.assertTrue(#plan.attentions[1].score.formula < 30000, body)
  end
end

-- A formula that is too long for a line becomes several lines, which assign local names, in linear time.
function TestGraphs.test_long_chains_become_python_in_linear_time()
  local _, info = accept("score = function(x) local s = x.score for i = 1, 500 do s = tanh(s) * x.a + i end "
    .. "return s end, parameters = { a = { init = 1 } }")
  local began = os.clock()
  local lines = require("expression.torch").format(info.score.root).lines
  lu.assertTrue(#lines > 500)
  lu.assertTrue(os.clock() - began < 4)
end

function TestGraphs.test_gradients_have_a_limit_too()
  local plan, problem = support.replace_fields({ { ir, "MAX_DERIVED_NODES", 300 } }, function()
    return plan_score("local s = x.score for i = 1, 20 do s = s * tanh(s) * x.a end return s")
  end)
  lu.assertNil(plan)
  lu.assertEquals({ problem.field, problem.what },
    { "encoding.score", "the formula and its gradients have more than 300 operations" })
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

support.run()
