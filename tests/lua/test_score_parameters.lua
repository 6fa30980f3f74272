-- Scores of specs (generator/spec/score): parameters, lists of scores, printed specs, digests and presets.

local support = dofile("tests/lua/support.lua")
local lists = require("base.lists")
local lu = require("luaunit")
local score_specs = require("score_specs")
local parameters = require("spec.score.score_parameters")
local plans = require("plans")
local resolved_spec = require("spec.resolved")
local write = require("base.write")

local accept, refuse, make_sets = score_specs.accept, score_specs.refuse, score_specs.make_sets
local HEAD, RANDOM = score_specs.HEAD, score_specs.RANDOM

TestParameters = {}

-- Resolves a parameter p, the text of a table; use: how the formula uses it. Returns the parameter in the resolved spec
-- and in the formula.
local function resolve(text, use)
  local resolved, info = accept(("score = function(x) return x.score + %s end, parameters = { p = %s }"):format(
    use or "x.p * x.head", text))
  return resolved.encoding.parameters.p, info.score.parameters[1]
end

local LOOKUP = "lookup(x.p, mod(x.distance, 3))"

function TestParameters.test_a_parameter_may_have_every_documented_form()
  lu.assertEquals(resolve("4"), { per = "model", learned = false, values = { 4.0 } })
  lu.assertEquals(resolve("{ values = 4, per = 'head' }"),
    { per = "head", learned = false, values = { 4.0, 4.0, 4.0, 4.0 } })
  lu.assertEquals(resolve("{ per = 'head', values = { 1, 2, 3, 4 } }").values, { 1, 2, 3, 4 })
  lu.assertEquals(resolve("{ init = 2 }"), { per = "model", learned = true, init = 2.0 })
  lu.assertEquals(resolve("{ init = 2, learned = false }"), { per = "model", learned = false, values = { 2.0 } })
  lu.assertEquals(resolve("{ per = 'layer_head', init = { normal = 2 } }"),
    { per = "layer_head", learned = true, init = { kind = "normal", sigma = 2.0 } })
  lu.assertEquals(resolve("{ init = { truncated_normal = 0.5 } }").init, { kind = "truncated_normal", sigma = 0.5 })
  lu.assertEquals(resolve("{ per = 'head', init = 'alibi_slopes' }"),
    { per = "head", learned = true, values = { 0.25, 0.0625, 0.015625, 0.00390625 } })
  lu.assertEquals(resolve("{ shape = 3, init = 0 }", LOOKUP),
    { per = "model", size = 3, first = 0, learned = true, init = 0.0 })
  lu.assertEquals(resolve("{ index = { -1, 2 }, values = 1, outside = 'clip' }", "lookup(x.p, x.distance)"),
    { per = "model", size = 4, first = -1, learned = false, values = { 1, 1, 1, 1 }, outside = "clip" })
  lu.assertEquals(resolve("{ index = { -1, 2 }, init = 1, outside = -2.5 }", "lookup(x.p, x.distance)").outside, -2.5)
end

function TestParameters.test_lists_are_spread_over_heads_and_indices()
  local function list_values(list)
    return resolve("{ per = 'head', shape = 3, values = " .. list .. " }", LOOKUP).values
  end
  lu.assertEquals(list_values("{ 7 }"), { 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 })
  lu.assertEquals(list_values("{ 1, 2, 3 }"), { 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3 })
  lu.assertEquals(list_values("{ 1, 2, 3, 4 }"), { 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4 })
  lu.assertEquals(list_values("{ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }"), { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 })
  local _, p = resolve("{ per = 'layer', shape = 3, init = { 1, 2, 3 } }", LOOKUP)
  lu.assertEquals({ p.values, p.init, p.learned, p.first }, { { 1.0, 2.0, 3.0 }, nil, true, 0 })
end

function TestParameters.test_constants_of_the_model_are_written_into_the_formula()
  local resolved, info = accept("score = function(x) return x.score - x.width * x.head end, parameters = { width = 4 }")
  lu.assertEquals(resolved.encoding.score, "x.score - 4 * x.head")
  lu.assertEquals(info.score.parameters, {})
  lu.assertEquals(resolved.encoding.parameters.width.values, { 4.0 })
end

-- Press et al. 2022: the slopes are powers of 1 / 2. If the number of heads is not a power of two, the slopes of the
-- next lower power are followed by every other slope of the next higher power.
function TestParameters.test_alibi_slopes_are_the_paper_s()
  lu.assertEquals(parameters.compute_alibi_slopes(8), { 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256 })
  lu.assertEquals(parameters.compute_alibi_slopes(1), { 1 / 256 })
  local twelve = parameters.compute_alibi_slopes(12)
  lu.assertEquals(#twelve, 12)
  for i, exponent in ipairs({ 1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5 }) do
    lu.assertAlmostEquals(twelve[i], 2 ^ -exponent, 1e-15)
  end
end

function TestParameters.test_lists_that_fit_nothing_name_the_lengths()
  refuse("score = function(x) return x.score + " .. LOOKUP .. " end, "
    .. "parameters = { p = { shape = 3, per = 'head', init = { 1, 2 } } }",
    "expected: a list of length 1 (for all), 3 (its values), 4 (one per head) or 12 (4 heads x 3 values: head after "
    .. "head)\n")
  refuse("score = function(x) return x.score + x.p end, parameters = { p = { 1, 2 } }",
    "encoding.parameters.p: the list has 2 values")
  refuse("score = function(x) return x.score + x.p end, parameters = { p = { values = { { 1 } } } }",
    "encoding.parameters.p.values[1]: a table is not a number")
end

TestEntries = {}

function TestEntries.test_lists_apply_in_order()
  local resolved, info = accept("score = { { use = 'alibi' }, { use = 'window', width = 3 }, "
    .. "{ score = function(x) return x.score * x.slope end, parameters = { slope = { per = 'layer', init = 1 } } }, "
    .. "function(x) return 2 * x.score end }")
  lu.assertEquals(resolved.encoding.score, "2 * ((x.score + x.slope * (select(less(x.distance, 0), 0.5, 0) - "
    .. "abs(x.distance)) - select(less_equal(abs(x.distance), 3), 0, 10000)) * x.slope_2)")
  local names = lists.map(info.score.parameters, function(p) return p.name .. " " .. p.per end)
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

function TestEntries.test_parameters_of_one_name_are_numbered()
  local entry = "{ score = function(x) return x.score + x.a end, parameters = { a = { init = 0 } } }"
  lu.assertEquals(accept(("score = { %s, %s, %s }"):format(entry, entry, entry)).encoding.score,
    "x.score + x.a + x.a_2 + x.a_3")
  local renamed_entry = entry:gsub("%f[%w]a%f[%W]", "a_2")
  lu.assertEquals(accept(("score = { %s, %s, %s }"):format(entry, renamed_entry, entry)).encoding.score,
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
  local sets = make_sets("encoding.parameters.width", "4")
  for _, text in ipairs({ "use = 'window'", "score = { use = 'window', width = 3 }", "kind = 'window'",
    "use = 'window', parameters = { width = 3 }" }) do
    local resolved, info = accept(text, sets)
    lu.assertStrContains(resolved.encoding.score, "abs(x.distance), 4)")
    lu.assertEquals(info.origins["encoding.parameters.width"], "--set encoding.parameters.width=4")
  end
  lu.assertStrContains(accept("use = 'alibi'",
    make_sets("encoding.score", "{ use = 'window', width = 5 }")).encoding.score,
    "5")
  refuse("use = 'alibi'", "5 does not fit here", make_sets("encoding.score", "5"))
  refuse("use = 'alibi'", "hint: a function cannot come from the command line; a preset can",
    make_sets("encoding.score", "function(x) return 2 * x.score end"))
  refuse("use = 'alibi'", "a function cannot come from the command line",
    make_sets("encoding.score", "{ function(x) return 2 * x.score end }"))
  refuse("use = 'alibi'", "parameter width is not used", sets)
end

TestResolved = {}

function TestResolved.test_random_positions_are_used_by_a_score_that_reads_them()
  local random = RANDOM:format("")
  for text, is_used in pairs({ ["abs(x.distance)"] = true, ["x.query_index"] = false, ["x.head"] = false,
    ["x.key_index - x.query_index"] = false }) do
    local resolved, info = accept(("score = function(x) return x.score - (%s) end, %s"):format(text, random))
    lu.assertEquals(resolved.encoding.positions.draw, is_used and "layer" or "pass", text)
    lu.assertEquals(#info.warnings, is_used and 0 or 1, text)
  end
  local resolved = accept("use = 'alibi', " .. RANDOM:format(", draw = 'pass'"))
  lu.assertEquals(resolved.encoding.positions.draw, "pass")
end

function TestResolved.test_print_shows_formula_and_parameters()
  local resolved, info = accept("score = { { use = 'alibi_learned' }, { use = 't5' }, { use = 'window' } }")
  local text = resolved_spec.format(resolved, info.origins)
  lu.assertStrContains(text, "encoding.score ", nil)
  lu.assertStrContains(text, "= " .. resolved.encoding.score .. " ")
  lu.assertStrContains(text, "per head, learned from { 0.25, 0.0625, 0.015625, 0.00390625 }")
  lu.assertStrContains(text, "per head, index 0 to 31, learned from normal(0.125)")
  lu.assertStrContains(text, "per model, constant { 8 }")
  lu.assertStrContains(text, "spec/encodings/t5.lua:56:18")
  lu.assertEquals(text, resolved_spec.format(resolved, info.origins))
end

function TestResolved.test_the_same_spec_gives_the_same_formula()
  local text = "score = { { use = 'fire' }, { use = 'kerple_power' }, { use = 't5' } }"
  local first, again = accept(text), accept(text)
  lu.assertEquals(first, again)
end

TestScoreDigests = {}

local function compute_digests(encoding)
  local plan = assert(plans.build((accept(encoding))))
  return plan.digest, plan.model_digest
end

function TestScoreDigests.test_digests_depend_on_the_meaning_of_a_score()
  local score_text = "score = function(x) return x.score - x.a * %s end, parameters = { a = { %s } }"
  local plan, model = compute_digests(score_text:format("x.head", "per = 'head', init = 1"))
  for _, case in ipairs({
    { score_text:format("x.layer", "per = 'head', init = 1"), true, true },
    { score_text:format("x.head", "per = 'layer_head', init = 1"), true, true },
    { score_text:format("x.head", "per = 'head', init = 2"), true, false },
    { score_text:format("x.head", "per = 'head', values = 1"), true, true },
    { "score = function(x) local b = x.a return x.score - b * x.head end, parameters = { a = { init = 1, "
      .. "per = 'head' } }", false, false },
  }) do
    local other_plan, other_model = compute_digests(case[1])
    lu.assertEquals({ other_plan ~= plan, other_model ~= model }, { case[2], case[3] }, case[1])
  end
end

TestPresets = {}

-- The formulas of some presets, with their default parameters.
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

-- Presets that need four layers, positions of a task, or a grid of 16 cells (test_latin_encodings.lua tests these).
local PRESETS_OF_TASKS = { coupling = true, local_global_cycle = true, lst_2d = true, lst_2d_clean = true,
  lst_learned = true, lst_random = true, rope_nope_cycle = true }

-- The causal mask of the decoder changes the formula, but its origin is still the line of the preset.
function TestPresets.test_scores_of_attentions_have_the_origin_of_the_shared_score()
  local resolved, info = support.accept('return { task = { kind = "bucket_sort" }, encoding = { use = "t5" }, '
    .. 'model = { kind = "encoder_decoder" } }')
  local text = resolved_spec.format(resolved, info.origins)
  lu.assertStrMatches(text, ".*encoding%.decoder%.score[^\n]* spec/encodings/t5%.lua:%d+:%d+\n.*")
  lu.assertStrMatches(text, ".*encoding%.decoder%.parameters%.bias[^\n]* spec/encodings/t5%.lua:%d+:%d+\n.*")
end

function TestPresets.test_every_preset_is_valid_alone_and_with_sampled_distances()
  local count = 0
  for _, file in ipairs(write.list_names("spec/encodings")) do
    local name = file:match("^(.*)%.lua$")
    if not PRESETS_OF_TASKS[name] and not name:find("^abc_") then -- presets for encoder-decoders: test_masks.lua
      local resolved = accept(("use = %q"):format(name))
      accept(("use = %q, positions = { kind = 'randomized' }"):format(name))
      lu.assertEquals(resolved.encoding.score, FORMULAS[name] or resolved.encoding.score)
      count = count + (resolved.encoding.score and 1 or 0)
    end
  end
  lu.assertEquals(count, 20)
end

-- From distance 8 on, T5 computes the bucket in floats: 8 + floor(log(n / 8) / log(16) * 8), at most 15.
function TestPresets.test_t5_buckets_are_t5_s()
  local edges = lists.find_all(FORMULAS.t5:match("{(.-)}"), "%d+")
  for n = 0, 300 do
    local count = lists.count(edges, function(edge) return tonumber(edge) <= n end)
    local bucket = n < 8 and n or math.min(15, 8 + math.floor(math.log(n / 8) / math.log(16) * 8 + 1e-9))
    lu.assertEquals(count, bucket, n)
  end
end

support.run()
