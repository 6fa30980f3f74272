-- Sums over the keys of a query in scores, sum_to_query: formulas, generated code, words of a plan, refusals.

local support = dofile("tests/lua/support.lua")

local lists = require("base.lists")
local lu = require("luaunit")
local score_facet = require("facets.score")
local score_specs = require("score_specs")

TestSumsOverKeys = {}

local plan, make_plan, make_score = score_specs.plan, score_specs.make_plan, score_specs.make_score

-- A score that each query lowers by a soft count of keys.
local COUNT = make_score("x.score - x.slope * sum_to_query(sigmoid(x.score))", "slope = { init = 1 }")

local function assert_refused(words, encoding, kind)
  local spec, message = plan(encoding, kind)
  lu.assertNil(spec, encoding)
  lu.assertStrContains(message, words)
end

local function get_values(list)
  return lists.map(list, function(statement) return statement.value end)
end

function TestSumsOverKeys.test_scores_read_the_sum_and_its_term_gets_summed_gradients()
  local score = make_plan(COUNT).attentions[1].score
  lu.assertEquals(score.formula, "x.score - x.slope * sum_to_query(sigmoid(x.score))")
  local sum = score.row_sums[1]
  lu.assertEquals({ score.row_sums.count, sum.name, sum.text, sum.has_gradient, get_values(sum.term) },
    { 1, "row_sum", "sigmoid(x.score)", true, { "sigmoid_of(logit)" } })
  lu.assertEquals(get_values(score.pair), { "logit - load(sums + j * LANES) * s->scalar[0]" })
  lu.assertEquals(score.pair_gradient[1].value, "keep_where(seen, group->drow_sum - dscore * s->scalar[0])")
end

function TestSumsOverKeys.test_equal_terms_have_one_sum()
  local score = make_plan(make_score("x.score + tanh(sum_to_query(x.score)) - sum_to_query(x.score) * 0.5"
    .. " + sum_to_query(x.score * x.score)")).attentions[1].score
  lu.assertEquals(lists.map(score.row_sums, function(sum) return sum.place end),
    { "2 * j * LANES", "(2 * j + 1) * LANES" })
end

-- If only functions without a gradient read a sum, its term gets no gradient.
function TestSumsOverKeys.test_a_sum_without_a_gradient_is_not_gathered()
  local score = make_plan(make_score("x.score + floor(sum_to_query(sigmoid(x.score)))")).attentions[1].score
  lu.assertEquals({ score.row_sums.has_gradients, score.has_group, score.needs_pair_gradient }, { false, false, false })
end

-- A term whose numbers do not change in training gets no gradient, although the factor of its sum is learned.
function TestSumsOverKeys.test_a_constant_term_gets_no_gradient()
  local function derive(term)
    return make_plan(make_score(("x.score - x.slope * sum_to_query(%s)"):format(term), "slope = { init = 1 }"))
      .attentions[1].score
  end
  local score = derive("exp(0.1 * x.distance)")
  lu.assertEquals({ score.has_trained_tables, score.row_sums.has_gradients, score.cuda.row_sums.has_gradients,
    score.row_sums.reads_logit }, { true, false, false, false })
  lu.assertEquals(score.cuda.row_sums.gradients, {})
  lu.assertTrue(derive("x.slope * exp(0.1 * x.distance)").row_sums.has_gradients)
end

-- If a sum over an index contains a sum over keys, each of its terms gets a sum over keys of its own.
function TestSumsOverKeys.test_sums_inside_of_sums_are_written_out()
  local score = make_plan(make_score("x.score + sum(3, function(m) return sum_to_query(tanh(x.score - m)) end)"))
    .attentions[1].score
  lu.assertEquals(lists.map(score.row_sums, function(sum) return sum.text end),
    { "tanh(x.score)", "tanh(x.score - 1)", "tanh(x.score - 2)" })
end

function TestSumsOverKeys.test_ranges_of_sums_follow_from_terms()
  make_plan(make_score("x.score - log(0.5 + sum_to_query(sigmoid(x.score)))"))
  make_plan(make_score("x.score - sqrt(sum_to_query(select(less(0, x.score), 1, 0)))"))
end

function TestSumsOverKeys.test_a_lookup_at_an_index_from_a_sum_gives_no_warning()
  local _, spec = make_plan(make_score("x.score + lookup(x.t, bucket(sum_to_query(exp(x.distance)), { 1.45 }))",
    "t = { shape = 2, init = 0 }"))
  lu.assertEquals(spec.warnings, {})
end

function TestSumsOverKeys.test_scores_that_start_infinite_are_refused()
  make_plan(make_score("x.score + exp(sum_to_query(0.5 * sigmoid(x.score)))"))
  assert_refused("is infinite at the start of training", make_score("x.score + exp(50 * sum_to_query(x.score + 2))"))
end

function TestSumsOverKeys.test_words_of_the_plan()
  local planned, spec = make_plan(COUNT)
  lu.assertEquals(spec.warnings, {})
  lu.assertFalse(planned.no_device_code)
  local choices = {}
  score_facet.add_choices(planned, planned.attentions, function(name, value, reason)
    choices[name] = value .. ": " .. reason
  end)
  lu.assertEquals(choices["score row_sum"],
    "[query][key]: for each query, running sum from its own key to the first key: sigmoid(x.score)")
  lu.assertStrContains(choices["score in the pair loop"], "x.score - row_sum * scalar")
end

function TestSumsOverKeys.test_wide_models_have_no_device_code()
  local spec = plan(COUNT, "decoder", 256)
  lu.assertEquals(spec.plan.no_device_code.what, "a network of this width with a score that calls sum_to_query")
end

function TestSumsOverKeys.test_queries_see_all_earlier_keys_and_no_later_ones()
  make_plan("mask = { kind = 'causal' }, " .. COUNT, "encoder")
  make_plan("decoder = { " .. COUNT .. " }", "encoder_decoder")
  local words = "encoding.mask.kind: sum_to_query sums over the keys from a key to its query"
  assert_refused(words, COUNT, "encoder")
  assert_refused(words, "mask = { kind = 'window', left = 2 }, " .. COUNT)
  assert_refused("encoding.encoder.mask.kind: sum_to_query sums over", "mask = { kind = 'causal' }, " .. COUNT,
    "encoder_decoder")
  assert_refused("hint: a causal mask in encoding applies to the decoder alone: encoding.decoder = { score = ... }",
    COUNT, "encoder_decoder")
  make_plan(make_score("x.score * x.sum_to_query_scale", "sum_to_query_scale = { init = 1 }"), "encoder")
  assert_refused("encoding.lines: a table of lines hides keys over which sum_to_query sums",
    "lines = { { head = 0, direction = 1, line = 0, value = 1 } }, " .. COUNT)
  assert_refused("encoding.relative.kind: vectors of distances cannot be used with sum_to_query",
    "relative = { kind = 'shaw' }, " .. COUNT)
  assert_refused("encoding.score: a score cannot be used with cope", "use = 'cope', " .. COUNT)
  assert_refused("encoding.score: a score cannot be used with stick-breaking attention", "use = 'stick_breaking', "
    .. COUNT)
  assert_refused("sum_to_query is used in cross-attention", "cross = { " .. COUNT .. " }", "encoder_decoder")
end

function TestSumsOverKeys.test_other_terms_are_refused()
  assert_refused("sum_to_query reads another sum_to_query", make_score("sum_to_query(sum_to_query(x.score))"))
  assert_refused("hint: x.score is the result of the previous score, which reads sum_to_query",
    ("score = { { %s }, { score = function(x) return x.score + sum_to_query(x.score) end } }"):format(COUNT))
  assert_refused("a sum of truth values", make_score("x.score + sum_to_query(less(0, x.score))"))
  assert_refused("sum_between reads sum_to_query",
    make_score("x.score + sum_between(x.gate * sum_to_query(x.score))", 'gate = { per = "token" }'))
  assert_refused("the score reads x.gate, a value of one token",
    make_score("x.score + sum_to_query(x.score * x.gate)", 'gate = { per = "token" }'))
end

support.run()
