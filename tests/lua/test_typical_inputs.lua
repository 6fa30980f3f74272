-- Formulas that are not finite at the start of training (spec/score/typical_inputs.lua), and the values of formulas.

local support = dofile("tests/lua/support.lua")

local evaluate = require("expression.evaluate").evaluate
local ir = require("expression.ir")
local lu = require("luaunit")
local project = require("project").new(".")

-- The text of the errors of a spec with this score. fields: further text of the encoding, or nil.
local function find_errors(formula, parameters, fields, model)
  local _, _, d = support.check_text(([[return { task = { kind = "bucket_sort" },
    encoding = { score = function(x) return %s end, parameters = { %s }, %s },
    model = { use = "small_encoder", %s }, train = { use = "quick" }, eval = { use = "quick" } }]]):format(formula,
    parameters, fields or "", model or ""))
  return d:text()
end

TestTypicalInputs = {}

function TestTypicalInputs.test_formulas_that_are_not_finite_are_refused()
  -- { formula, parameters, two parts of the message, more fields of the encoding or nil, fields of the model or nil }
  local cases = {
    { "x.score + sum_between(log(x.gate))", 'gate = { per = "token" }', "log(x.gate) is NaN", "x.gate = -0.0617\n" },
    { "x.score + sum_between(log(x.gate + 0.05))", 'gate = { per = "token" }', "log(x.gate + 0.05) is NaN",
      "x.gate = -0.0617\n" }, -- the width is 16, and the deviation is 0.02 * sqrt(16)
    { "x.score + sqrt(x.gate + 0.5)", 'gate = { per = "token", from = "key" }', "sqrt(x.gate + 0.5) is NaN",
      "x.gate = -0.771\n" },
    { "x.score + log(x.gate - x.score + 1.5)", 'gate = { per = "token", from = "key" }', "is NaN", "x.score = 1\n" },
    { "x.score * log(x.a)", 'a = { per = "layer_head", init = { 1, 1, 1, 0 } }', "log(x.a) is infinite", "x.a = 0\n",
      "", "heads = 4" },
    { "x.score + (1 + abs(x.distance)) ^ x.a", "a = { init = 99 }", "is infinite", "apply min and max to the base" },
    { "x.score + sqrt(x.a)", "a = { init = { normal = 2 } }", "sqrt(x.a) is NaN", "x.a = -1.53\n" },
    { "x.score + x.score / x.score", "", "x.score / x.score is NaN", "x.score = 0\n" },
    { "x.score + exp(x.a * abs(x.distance))", "a = { init = 5 }", "is infinite", "x.a = 5, x.distance = " },
    { "x.score + x.a ^ 0.25", "a = { values = { -1, 1 }, per = 'head' }", "pow(x.a, 0.25) is NaN", "x.a = -1\n" },
    { "x.score + 1 / (x.layer - x.a)", "a = { init = 1 }", "is infinite", "x.a = 1" },
    { "x.score + log(lookup(x.t, min(abs(x.distance), 2)))", "t = { shape = 3, init = { 1, 2, -3 } }", "is NaN",
      "= -3\n" },
    { "x.score + log(x.a - x.distance)", "a = { init = 900 }", "log(x.a - (x.key - x.query)) is NaN", "x.key = 948",
      'positions = { kind = "randomized", max_position = 1000, reading = "difference" }' },
    { "x.score + sum(3, function(m) return log(lookup(x.t, m)) end)", "t = { shape = 3, init = { 1, 2, -3 } }",
      "is NaN", "a finite number for typical inputs\n" },
    { "x.score + sum(4, function(m) return log(x.a - m) end)", "a = { init = 2 }", "is NaN", "x.a = 2\n" },
    { "x.score - log(x.a - sum_to_query(sigmoid(x.score)))", "a = { init = 1 }", "is infinite", "x.a = 1",
      'mask = { kind = "causal" }' },
    { "x.score + log(1.5 - sum_to_query(exp(x.a * x.distance)))", "a = { init = 1 }", "is NaN",
      "such as x.a = 1, x.distance = ", 'mask = { kind = "causal" }' },
  }
  for _, case in ipairs(cases) do
    local message = find_errors(case[1], case[2], case[5], case[6])
    lu.assertStrContains(message, "error: encoding.score: ", false, case[1])
    lu.assertStrContains(message, case[3] .. " at the start of training", false, case[1])
    lu.assertStrContains(message, case[4])
    lu.assertStrContains(message, "1 error;")
  end
end

function TestTypicalInputs.test_finite_formulas_are_accepted()
  local cases = {
    { "x.score + sum_between(log(x.gate + 0.1))", 'gate = { per = "token" }' },
    { "x.score - sum_between(log_sigmoid(-x.gate))", 'gate = { per = "token" }' },
    { "x.score + log(x.gate + 2)", 'gate = { per = "token", from = "query", unit = true, init = { normal = 9 } }' },
    { "x.score + exp(x.a * abs(x.distance))", "a = { init = 1 }" },
    { "x.score + exp(x.a * abs(x.distance))", "a = { init = 5 }", 'mask = { kind = "window", left = 3, right = 3 }' },
    { "x.score + log(x.a - x.distance)", "a = { init = 1 }", 'mask = { kind = "causal" }' },
    { "x.score + select(less(x.a, 0), 0, sqrt(x.a))", "a = { init = -1 }" }, -- the result is 0
    { "x.score - log(x.a + sum_to_query(sigmoid(x.score)))", "a = { init = 1 }", 'mask = { kind = "causal" }' },
    { "x.score * sqrt(700 - x.s * sum_to_query(-0.07 * x.distance))", "s = { init = 2 }",
      'mask = { kind = "causal" }' },
    { "x.score + sum(1024, function(m) return sum(1024, function(n) return log(x.a * m * n - 1) end) end)",
      "a = { init = -1 }" }, -- too large to be computed
    { "x.score + x.a / sqrt(x.a * x.a + x.b * x.b)",
      "a = { per = 'token', from = 'key' }, b = { per = 'token', from = 'key' }" },
    { "x.score + log(x.a * x.a) + 1 / abs(x.a - x.b)",
      "a = { init = { normal = 1 } }, b = { init = { normal = 1 } }" },
    { "x.score + 1 / (lookup(x.t, min(abs(x.distance), 2)) - lookup(x.t, 3))",
      "t = { shape = 4, init = { normal = 1 } }" },
    { "x.score + 1 / (1 + exp(x.a * abs(x.distance)))", "a = { values = 100 }" }, -- 1 / infinity is 0
  }
  for _, case in ipairs(cases) do
    lu.assertEquals(find_errors(table.unpack(case)), "", case[1])
  end
end

-- The longest example limits the distances. If the examples are in a file, the spec may state the longest length. The
-- check assumes the stated length, but at most 64; without a stated length, it assumes 16.
function TestTypicalInputs.test_distances_of_datasets()
  local function find_messages(task, slope)
    local spec, message = project:plan(support.write("probe.lua", ([[return { task = { %s },
      encoding = { parameters = { s = { init = %g } },
        score = function(x) return x.score * sqrt(1 - x.s * abs(x.distance)) end },
      model = { use = "small_encoder" }, train = { epochs = 1, batch = 4, learning_rate = 0.01 } }]]):format(task,
      slope)))
    return spec and "" or message
  end
  local generated = 'kind = "parity", options = { width = 8 }'
  local file = "data = 'a.jsonl', input_symbols = 3, output_symbols = 2"
  lu.assertEquals(find_messages(generated, 0.05), "")
  lu.assertStrContains(find_messages(generated, 0.06), "at the start of training")
  for field, assumed_length in pairs({ [""] = 16, [", longest = 9"] = 9, [", longest = 900"] = 64 }) do
    lu.assertEquals(find_messages(file .. field, 0.99 / (assumed_length - 1)), "", field)
    lu.assertStrContains(find_messages(file .. field, 1.01 / (assumed_length - 1)), "at the start of training")
  end
end

-- Cross-attention inherits a score that is finite for examples of the longest length that the spec states.
function TestTypicalInputs.test_cross_attention_inherits_scores_of_short_examples()
  local resolved = support.accept([[return {
    task = { data = "a.jsonl", input_symbols = 3, output_symbols = 2, longest = 9 },
    encoding = { score = function(x) return x.score * sqrt(1 - x.s * x.key_length) end,
      parameters = { s = { init = 0.1 } } },
    model = { use = "small_encoder_decoder" }, train = { epochs = 1, batch = 4, learning_rate = 0.01 } }]])
  lu.assertEquals(resolved.encoding.cross.score, "x.score * sqrt(1 - x.s * x.key_length)")
end

-- The check does not compute which keys these masks hide. A mask with errors hides unknown keys; and the keys that
-- lines and anti-diagonals hide depend on the head and the length.
function TestTypicalInputs.test_masks_that_are_not_computed()
  local formula, parameters = "x.score + exp(x.a * abs(x.distance))", "a = { init = 50 }"
  for _, mask in ipairs({ "mask = { kind = 'near' }", "mask = { kind = 'window', left = -1 }" }) do
    local message = find_errors(formula, parameters, mask)
    lu.assertStrContains(message, "1 error;")
    lu.assertNotStrContains(message, "infinite")
  end
  lu.assertEquals(find_errors(formula, parameters, "mask = { kind = 'antidiagonal', width = 1 }"), "")
  lu.assertEquals(find_errors(formula, parameters,
    "lines = { { head = 0, direction = 1, line = 0, value = 1 } }"), "")
end

TestEvaluate = {}

function TestEvaluate.test_operations_have_their_values()
  local b = ir.new({ heads = 2, layers = 1, positions = "index" })
  local score, distance = b:symbol("score"), b:symbol("distance")
  local function compute(node)
    return (evaluate(node, { query = 5, key = 3, read = function(leaf, index)
      return index and 10 * index or leaf == score and 0.25 or nil
    end }))
  end
  local is_near = b:apply("less", b:apply("abs", distance), 3)
  lu.assertEquals(compute(distance), -2)
  lu.assertEquals(compute(b:apply("select", is_near, score, b:symbol("head"))), 0.25)
  lu.assertNil(compute(b:apply("select", b:apply("negate", is_near), score, b:symbol("head"))))
  lu.assertFalse(compute(b:apply("all", is_near, b:apply("less", 1, score))))
  lu.assertTrue(compute(b:apply("any", is_near, b:apply("less", 1, score))))
  lu.assertEquals(compute(b:sum_to_query(score)), 0.75)
  lu.assertEquals(compute(b:sum_to_query(b:apply("mul", distance, b:symbol("query_index")))), -15)
  lu.assertEquals(compute(b:sum(3, function(m) return b:sum_to_query(b:apply("mul", m, distance)) end)), -9)
  lu.assertEquals((evaluate(b:sum_to_query(distance), { query = 3, key = 5 })), 2)
  lu.assertEquals((evaluate(b:sum_to_query(score), { query = 5, key = 3,
    read = function(_, _, key) return key end })), 12)
  lu.assertEquals(compute(b:apply("bucket", score, { 0, 0.25, 1 })), 2)
  lu.assertEquals(compute(b:sum(3, function(m)
    return b:sum(2, function(n)
      return b:apply("mul", b:apply("add", m, 1), b:apply("sub", n, b:symbol("query_index")))
    end)
  end)), -6 * 9.0)
  local table_parameter = { name = "t", size = 9, per = "model", learned = true }
  lu.assertEquals(compute(b:lookup(table_parameter, b:apply("min", b:apply("abs", distance), 8))), 20)
  local gate = b:leaf("value", "gate", { parameter = { name = "gate", per = "token" } })
  lu.assertEquals((evaluate(b:sum_between(b:apply("mul", gate, gate)), { query = 5, key = 3,
    read = function() return 3 end })), 18)
  lu.assertEquals((evaluate(b:sum_between(gate), { query = 3, key = 3, read = function() return math.huge end })), 0)
  lu.assertEquals((evaluate(b:apply("exp", score), { query = 0, key = 0, read = function() return 1000 end,
    round = function(value) return value == 1000 and 0 or value end })), 1)
end

support.run()
