-- Values of tokens in scores: parameters with per = "token", and sum_between, which sums them between key and query.

local support = dofile("tests/lua/support.lua")

local lists = require("base.lists")
local lu = require("luaunit")
local score_facet = require("facets.score")
local score_specs = require("score_specs")

TestValues = {}

local plan, make_plan = score_specs.plan, score_specs.make_plan

local function make_score(formula, parameters)
  return score_specs.make_score(formula, parameters or 'gate = { per = "token" }')
end

local function assert_refused(words, formula, parameters, kind)
  local spec, message = plan(make_score(formula, parameters), kind)
  lu.assertNil(spec, formula)
  lu.assertStrContains(message, words)
end

-- The value of a formula, whose symbols stand for fixed numbers here, in units of 1e-9 and rounded to a whole number.
local function compute(formula)
  local function log_sigmoid(y) return -math.log(1 + math.exp(-y)) end
  local x = { score = 0.5, distance = -3, slope = 0.25, strength = 0.7, key_gate = 1.5, query_gate = -0.4 }
  local value = load("local x, abs, log_sigmoid = ... return " .. formula)(x, math.abs, log_sigmoid)
  return math.floor(value * 1e9 + 0.5)
end

function TestValues.test_presets_have_the_papers_formulas()
  local function get_formula(preset, kind)
    return make_plan(("use = %q"):format(preset), kind).attentions[1].score.formula
  end
  lu.assertEquals(get_formula("fox", "decoder"), "x.score + sum_between(log_sigmoid(x.gate))")
  lu.assertEquals(get_formula("cable", "decoder"),
    "2.8284271247461903 * x.score + sum_between(log_sigmoid(-x.gate))") -- sqrt(8); a head has 8 channels
  lu.assertEquals(get_formula("fox", "encoder_decoder"), "x.score - abs(sum_between(log_sigmoid(x.gate)))")
end

function TestValues.test_presets_multiply_penalties_by_gates_of_keys_and_queries()
  local GATES = {
    grape_key = "-log_sigmoid(-0.35355339059327373 * x.key_gate)", -- 1 / sqrt(8); a head has 8 channels
    grape_query = "-log_sigmoid(-0.35355339059327373 * x.query_gate)",
    grape_both = "-log_sigmoid(-0.35355339059327373 * x.key_gate) - log_sigmoid(-0.35355339059327373 * x.query_gate)",
  }
  for preset, gate in pairs(GATES) do
    local planned, spec = make_plan(("use = %q"):format(preset))
    local full_formula = ("x.score - abs(x.distance) * x.slope * -log_sigmoid(-x.strength) * (%s)"):format(gate)
    lu.assertEquals(compute(planned.attentions[1].score.formula), compute(full_formula), preset)
    lu.assertEquals(spec.warnings, {})
    lu.assertFalse(planned.no_device_code)
  end
end

function TestValues.test_vectors_of_heads_give_values_of_queries_and_keys()
  local planned = make_plan(make_score("x.score + sum_between(x.a) * x.b + x.c",
    'a = { per = "token" }, b = { per = "token", from = "query" }, '
      .. 'c = { per = "token", from = "key", unit = true, init = 0.5 }'))
  local found = {}
  for _, t in ipairs(planned.tensors) do
    found[#found + 1] = t.name:find("layers.0.attention.score", 1, true) and { t.name, t.shape, t.init, t.value } or nil
  end
  lu.assertEquals(found, {
    { "layers.0.attention.score.b", { 2, 8 }, "LH_INIT_NORMAL", 1 / math.sqrt(8) },
    { "layers.0.attention.score.c", { 2, 8 }, "LH_INIT_CONSTANT", 0.5 },
  })
  local running = planned.attentions[1].score.running
  lu.assertEquals(running.sum_row_count, "HEADS")
  lu.assertEquals(lists.get_names(running.token_numbers), { "sums", "of_query", "of_key" })
  lu.assertEquals(lists.map(running.projected_values, function(value) return value.name end), { "value_a" })
  lu.assertEquals(lists.map(running.products, function(value) return value.vector end),
    { "p->score_b", "unit_c" })
end

function TestValues.test_terms_of_one_token_are_computed_once_per_token()
  local choices = {}
  local planned = make_plan(make_score("x.score + x.distance * tanh(x.a * x.b) + tanh(x.a + x.c)",
    'a = { per = "token", from = "key" }, b = { per = "token", from = "key" }, c = { per = "token", from = "query" }'))
  score_facet.add_choices(planned, planned.attentions, function(name, value, reason)
    choices[name] = value .. ", " .. reason
  end)
  lu.assertEquals(choices["score of_key"],
    "[2][token], once per sequence and layer, for each token: tanh(x.a * x.b); its gradient goes to x.a, x.b")
  lu.assertStrContains(choices["score of_key_2"], "for each token: x.a; its gradient goes to x.a")
  lu.assertStrContains(choices["score of_query"], "for each token: x.c; its gradient goes to x.c")
end

function TestValues.test_values_of_queries_alone_cancel()
  local _, spec = make_plan(make_score("x.score + x.a", 'a = { per = "token", from = "query" }'))
  lu.assertStrContains(table.concat(lists.map(spec.warnings, tostring)), "a never gets a gradient")
end

function TestValues.test_a_map_of_the_input_gives_the_values_of_all_heads()
  local planned = make_plan(make_score("x.score + sum_between(x.gate) * sum_between(x.other)",
    'gate = { per = "token", init = 0 }, other = { per = "token", init = 0 }'))
  local function find(name)
    local t = lists.find(planned.tensors, function(tensor) return tensor.name == name end)
    return { t.shape, t.init, t.value }
  end
  lu.assertEquals(find("layers.0.attention.values.weight"), { { 16, 4 }, "LH_INIT_CONSTANT", 0 })
  lu.assertEquals(find("layers.0.attention.values.bias"), { { 4 }, "LH_INIT_CONSTANT", 0 })
  local fox = make_plan("use = 'fox'")
  local weight = lists.find(fox.tensors, function(tensor) return tensor.name == "layers.0.attention.values.weight" end)
  lu.assertEquals({ weight.init, weight.value }, { "LH_INIT_NORMAL", 0.02 })
end

function TestValues.test_gates_get_gradients()
  local planned, spec = make_plan("use = 'fox'")
  lu.assertEquals(spec.warnings, {})
  lu.assertFalse(planned.no_device_code)
  local choices = {}
  score_facet.add_choices(planned, planned.attentions, function(name, value, reason)
    choices[name] = value .. ", " .. reason
  end)
  lu.assertEquals(choices["score sums"],
    "[2][token], once per sequence and layer, running sum at each token: log_sigmoid(x.gate); its gradient goes to "
      .. "x.gate")
end

function TestValues.test_cross_attention_does_not_inherit_sums()
  local planned = make_plan("use = 'fox'", "encoder_decoder")
  lu.assertEquals(lists.map(planned.attentions, function(family) return family.score.kind end),
    { "expression", "expression", "none" })
  local spec, message = plan("cross = { use = 'fox' }", "encoder_decoder")
  lu.assertNil(spec)
  lu.assertStrContains(message, "sum_between is used in cross-attention")
end

function TestValues.test_a_list_of_scores_may_have_several_gates()
  local gate = "{ " .. make_score("x.score + sum_between(x.gate)") .. " }"
  local score = make_plan(("score = { %s, { use = 'alibi' }, %s }"):format(gate, gate)).attentions[1].score
  lu.assertEquals(#score.running.token_numbers, 2)
  lu.assertEquals(lists.map(score.running.values, function(value) return value.name end),
    { "value_gate", "value_gate_2" })
end

function TestValues.test_other_terms_are_refused()
  assert_refused("the score reads x.gate, a value of one token, for a pair", "x.score + x.gate")
  assert_refused("sum_between reads x.score", "x.score + sum_between(x.score * x.gate)")
  assert_refused("sum_between reads x.distance", "x.score + sum_between(x.distance * x.gate)")
  assert_refused("sum_between reads x.key\n", "x.score + sum_between(x.key * x.gate)")
  assert_refused("sum_between reads x.query_index\n", "x.score + sum_between(x.query_index * x.gate)")
  assert_refused("sum_between reads another sum_between", "x.score + sum_between(x.gate * sum_between(x.gate))")
  assert_refused("sum_between reads x.slope", "x.score + sum_between(x.slope * x.gate)",
    'gate = { per = "token" }, slope = { init = 1 }')
  assert_refused("sum_between reads no value of a token", "x.score + sum_between(2)", "")
  assert_refused("sum_between reads no value of a token", "x.score + sum_between(less(x.gate, 1))")
end

function TestValues.test_sources_of_values_are_checked()
  assert_refused("does not fit here", "x.score + x.gate", 'gate = { per = "token", from = "value" }')
  assert_refused("does not fit here", "x.score + x.gate", 'gate = { per = "token", from = "key", unit = 1 }')
  assert_refused("there is no vector to divide by its norm", "x.score + sum_between(x.gate)",
    'gate = { per = "token", unit = true }')
  assert_refused("this parameter is not the value of a token", "x.score + x.gate", 'gate = { init = 1, from = "key" }')
  local rotated, message = plan('rotation = { kind = "rope" }, '
    .. make_score("x.score + x.gate", 'gate = { per = "token", from = "key" }'))
  lu.assertNil(rotated)
  lu.assertStrContains(message, [["key" is used with encoding.rotation.kind = "rope"]])
  local crossed, problem = plan("cross = { use = 'grape_key' }", "encoder_decoder")
  lu.assertNil(crossed)
  lu.assertStrContains(problem, "x.key_gate is used in cross-attention")
end

function TestValues.test_fields_of_other_parameters_are_refused()
  local sum = "x.score + sum_between(x.gate)"
  for _, field in ipairs({ "shape = 2", "values = 1", "learned = true", "outside = 0", "index = { 0, 1 }" }) do
    assert_refused('a value with per = "token" has no such field', sum, ('gate = { per = "token", %s }'):format(field))
  end
  assert_refused("does not fit here", sum, 'gate = { per = "token", init = "alibi_slopes" }')
  assert_refused("the initial values differ from the initial values of x.gate",
    "x.score + sum_between(x.gate + x.other)", 'gate = { per = "token" }, other = { per = "token", init = 0 }')
end

support.run()
