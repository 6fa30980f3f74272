-- Attention that sees no key after a query: the mask determines the learned numbers, and parameters without a gradient
-- are reported.

local support = dofile("tests/lua/support.lua")

local lists = require("base.lists")
local lu = require("luaunit")
local project = require("project").new(".")
local spec_writer = require("lab.study.read.spec_writer")

TestOneSided = {}

local SPEC = [[return { task = { kind = "bucket_sort" }, encoding = { %s },
  model = { kind = "%s", heads = 2, width = 16, feedforward = 32 }, train = { use = "quick" } }]]

local function make_spec(encoding, kind, sets)
  local spec, message = project:plan(support.write("sided.lua", SPEC:format(encoding, kind or "decoder")), sets)
  lu.assertTrue(spec ~= nil, message)
  return spec
end

local function list_warnings(encoding, kind, sets)
  return table.concat(make_spec(encoding, kind, sets).warnings, "\n")
end

local function make_plan(encoding, kind)
  return make_spec(encoding, kind).plan
end

local function find_shape(plan, name)
  return lists.find(plan.tensors, function(tensor) return tensor.name == name end).shape
end

-- Whether n^16 >= 2^power. n^16 may need more than 64 bits, so it is a list of binary digits.
local function is_reached(n, power)
  local digits = { 1 }
  for _ = 1, 16 do
    local carry = 0
    for i = 1, #digits do
      carry = carry + digits[i] * n
      digits[i], carry = carry & 1, carry >> 1
    end
    while carry > 0 do
      digits[#digits + 1], carry = carry & 1, carry >> 1
    end
  end
  return #digits > power
end

-- Returns min(31, 16 + floor(16 ln(n / 16) / ln 8)); for n below 16, n itself.
local function compute_bucket(n)
  local bucket = math.min(n, 16)
  while n >= 16 and bucket < 31 and is_reached(n, 64 + 3 * (bucket - 15)) do
    bucket = bucket + 1
  end
  return bucket
end

-- Nakanishi 2025 with s = 0.43 at query 3, which sees 4 keys: the logits 2, 0, -1, 0 have the weights of the softmax of
-- 0.5961 times these logits.
function TestOneSided.test_ssmax_counts_the_keys_up_to_the_query()
  local function get_formula(kind)
    return make_plan("use = 'ssmax'", kind).attentions[1].score.formula
  end
  local decoder = get_formula("decoder")
  lu.assertEquals(decoder, "x.score * (x.s * log(x.query_index + 1))")
  lu.assertEquals(get_formula("encoder"), "x.score * (x.s * log(x.query_length))")
  local weights, total = {}, 0
  for i, logit in ipairs({ 2, 0, -1, 0 }) do
    local score = load("local x, log = ... return " .. decoder)({ score = logit, s = 0.43, query_index = 3 }, math.log)
    weights[i] = math.exp(score)
    total = total + weights[i]
  end
  for i, expected in ipairs({ 0.5636, 0.1711, 0.0943, 0.1711 }) do
    lu.assertAlmostEquals(weights[i] / total, expected, 5e-5)
  end
end

function TestOneSided.test_t5_has_its_decoder_s_buckets()
  local edges = {}
  for n = 1, 200 do
    edges[#edges + 1] = compute_bucket(n) > compute_bucket(n - 1) and tostring(n) or nil
  end
  local causal_score = "x.score + lookup(x.bias, bucket(abs(x.distance), { " .. table.concat(edges, ", ") .. " }))"
  lu.assertEquals(make_plan("kind = 't5'").resolved.encoding.score, causal_score)
  lu.assertEquals(make_plan("kind = 't5', mask = { kind = 'causal' }", "encoder").resolved.encoding.score,
    causal_score)
  local two_sided_score = make_plan("kind = 't5'", "encoder").resolved.encoding.score
  local encoding = make_plan("kind = 't5', cross = { use = 't5' }", "encoder_decoder").resolved.encoding
  lu.assertEquals({ encoding.score, encoding.decoder.score, encoding.cross }, { two_sided_score, causal_score })
  lu.assertEquals(make_plan("kind = 't5'", "encoder_decoder").resolved.encoding.cross.score, "none")
end

-- Random positions that are not sorted have differences of both signs, whatever keys the mask hides.
function TestOneSided.test_unsorted_differences_have_both_sides()
  local sampled_positions = ", positions = { kind = 'randomized', reading = 'difference', sorted = %s }"
  lu.assertNil(make_plan("kind = 'shaw'" .. sampled_positions:format("false")).resolved.encoding.relative.sides)
  lu.assertEquals(make_plan("kind = 'shaw'" .. sampled_positions:format("true")).resolved.encoding.relative.sides,
    "left")
end

function TestOneSided.test_tables_have_rows_of_visible_keys()
  local table_name = "layers.0.attention.relative.table"
  lu.assertEquals(find_shape(make_plan("kind = 'shaw'"), table_name)[1], 17)
  lu.assertEquals(find_shape(make_plan("kind = 'shaw', relative = { sides = 'both' }"), table_name)[1], 33)
  lu.assertEquals(find_shape(make_plan("kind = 'shaw'", "encoder"), table_name)[1], 33)
  lu.assertEquals(find_shape(make_plan("kind = 'distance_table'"), "score.bias")[2], 65)
  lu.assertEquals(find_shape(make_plan("kind = 'distance_table'", "encoder"), "score.bias")[2], 129)
  local pair = make_plan("kind = 'shaw'", "encoder_decoder")
  local rows = { pair.attentions[1].relative.rows, pair.attentions[2].relative.rows }
  lu.assertEquals({ rows, pair.attentions[3].relative.kind }, { { 33, 17 }, "none" })
end

-- A list has a value for each index of the spec; in a decoder, it may instead have only the values of visible keys.
function TestOneSided.test_lists_of_values_keep_the_values_of_visible_keys()
  local function read_values(list, sharing, kind)
    local spec = make_spec(("score = function(x) return x.score + lookup(x.bias, x.distance) end, parameters = { bias "
      .. "= { per = '%s', index = { -2, 2 }, by_distance = true, outside = 0, values = { %s } } }"):format(
      sharing, list), kind)
    return spec.plan.resolved.encoding.parameters.bias.values
  end
  lu.assertEquals(read_values("1, 2, 3, 4, 5", "model", "decoder"), { 1, 2, 3 })
  lu.assertEquals(read_values("1, 2, 3, 4, 5", "head", "decoder"), { 1, 2, 3, 1, 2, 3 })
  lu.assertEquals(read_values("1, 2, 3, 4, 5, 6, 7, 8, 9, 10", "head", "decoder"), { 1, 2, 3, 6, 7, 8 })
  lu.assertEquals(read_values("1, 2, 3", "model", "decoder"), { 1, 2, 3 })
  lu.assertEquals(read_values("7, 8", "head", "decoder"), { 7, 7, 7, 8, 8, 8 })
  lu.assertEquals(read_values("1, 2, 3, 4, 5", "model", "encoder"), { 1, 2, 3, 4, 5 })
  local _, message = pcall(read_values, "1, 2, 3, 4", "model", "decoder")
  lu.assertStrContains(message, "expected: a list of length 1 (for all), 5 (its values; those above distance 0 are "
    .. "left out, since no query sees a later key) or 3 (those up to distance 0)")
end

-- A spec may ask for both sides; the resolved spec of its runs records that.
function TestOneSided.test_a_run_keeps_the_sides_it_had()
  local plan = make_plan("kind = 'shaw', relative = { sides = 'both' }")
  local text = assert(spec_writer.write_spec(plan.resolved))
  lu.assertStrContains(text, 'sides = "both"')
  lu.assertEquals(project:plan(support.write("again.lua", text)).plan.digest, plan.digest)
end

function TestOneSided.test_parameters_without_a_gradient_are_reported()
  for _, preset in ipairs({ "t5", "shaw", "distance_table", "kerple_log", "cyclic", "alibi_learned" }) do
    for _, kind in ipairs({ "encoder", "decoder", "encoder_decoder" }) do
      lu.assertEquals(list_warnings(("kind = '%s'"):format(preset), kind), "", preset .. " " .. kind)
    end
  end
  lu.assertEquals(list_warnings("kind = 'pair_table', parameters = { rows = 2, columns = 2, bias = { shape = 4 } }",
    "encoder_decoder"), "encoding.decoder.parameters.bias: 1 of its 4 values (index 1) never get a gradient: the mask "
    .. "hides all pairs of tokens that read them")
  lu.assertStrContains(list_warnings("relative = { kind = 'shaw', sides = 'both' }"),
    "encoding.relative.sides: the vectors of distances 1 to 16 never get a gradient")
  local score = "score = function(x) return %s end, parameters = { a = { init = 1 }, b = { shape = 6, init = 0 } }"
  local warning = list_warnings(
    score:format("x.score + floor(x.a) + lookup(x.b, bucket(abs(x.distance), { 1, 2, 9 }))"), "encoder")
  lu.assertStrContains(warning, "encoding.parameters.a never gets a gradient: only functions without a")
  lu.assertStrContains(warning, "encoding.parameters.b: 2 of its 6 values (index 4 to 5) never get a gradient: no pair "
    .. "of tokens reads them")
  lu.assertStrContains(list_warnings("kind = 'distance_table', mask = { kind = 'window', left = 4 }"),
    "60 of its 65 values (index -64 to -5)")
  local crossing = "cross = { kind = 'distance_table', mask = { kind = 'window', left = 4, right = 1 } }"
  lu.assertStrContains(list_warnings(crossing, "encoder_decoder"), "63 of its 129 values (index 2 to 64)")
end

-- A term of the score that is equal for all keys of a query does not change the weights.
function TestOneSided.test_terms_that_softmax_cancels_are_reported()
  local cancels = " never gets a gradient: all keys of a query get the same addition, which softmax cancels"
  for _, kind in ipairs({ "encoder", "decoder", "encoder_decoder" }) do
    lu.assertEquals(list_warnings("kind = 'fire'", kind), "encoding.parameters.output_bias" .. cancels)
  end
  local score = "score = function(x) return %s end, parameters = { a = { init = 1 }, b = { per = 'head', init = 1 } }"
  local both_warnings = "encoding.parameters.a" .. cancels .. "\nencoding.parameters.b" .. cancels
  for formula, warning in pairs({
    ["x.score + x.a * x.b"] = both_warnings, ["x.b * (x.score - exp(x.a))"] = "encoding.parameters.a" .. cancels,
    ["x.score + x.a * x.distance + x.b * x.query_index"] = "encoding.parameters.b" .. cancels,
    ["select(less(x.query_index, 3), x.score + x.a, x.score) / (1 + x.b * x.b)"] = "encoding.parameters.a" .. cancels,
    ["x.score + sum(4, function(i) return x.a * i + x.b * x.key_index end)"] = "encoding.parameters.a" .. cancels,
    ["max(x.score + x.a, 0) + x.b * x.key"] = "", ["x.a * x.score + x.b * x.distance"] = "",
  }) do
    lu.assertEquals(list_warnings(score:format(formula), "encoder"), warning, formula)
  end
end

function TestOneSided.test_biases_of_keys_are_reported()
  local warning = ": the biases of keys never get a gradient: all keys of a query get the same addition, which softmax "
    .. "cancels"
  local function list_warnings_with_biases(encoding, kind)
    return list_warnings(encoding, kind or "encoder", { "model.bias=all" })
  end
  lu.assertEquals(list_warnings_with_biases("kind = 'none'"), "model.bias" .. warning)
  lu.assertEquals(list_warnings_with_biases("kind = 'alibi'", "encoder_decoder"), "model.bias" .. warning)
  for _, kind in ipairs({ "encoder", "encoder_decoder" }) do
    lu.assertEquals(list_warnings_with_biases("projections = { bias = true }", kind),
      "encoding.projections.bias" .. warning)
  end
  for _, encoding in ipairs({ "kind = 'rope'", "kind = 'geometric'", "kind = 'stick_breaking'",
    "projections = { bias = false }",
    "score = function(x) return tanh(x.score) end", "score = function(x) return x.score * x.distance end" }) do
    lu.assertEquals(list_warnings_with_biases(encoding), "", encoding)
  end
end

support.run()
