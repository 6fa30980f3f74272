-- Texts about a plan: the page and the JSON of `./longhand plan`, comments of generated files, plan.lua.

local support = dofile("tests/lua/support.lua")

local canonical = require("base.canonical")
local json = require("dkjson")
local lists = require("base.lists")
local lu = require("luaunit")
local network_page = require("lab.pages.network_page")
local plan_choices = require("plan.pages.choices")
local plan_file = require("plan.pages.plan_file")
local plan_page = require("lab.pages.plan_page")
local plans = require("plans")

local build, resolve_everything, make_plan = plans.build, plans.resolve_everything, plans.make_plan
local plan_encoding, make_small_sets, make_task = plans.plan_encoding, plans.make_small_sets, plans.make_task

TestWords = {}

local function list_keys(t)
  return table.concat(canonical.sort_keys(t), " ")
end

function TestWords.test_json_has_the_documented_keys()
  local plan = build(resolve_everything())
  local object = plan_page.make_json(plan)
  lu.assertEquals(list_keys(object),
    "choices digest flops_per_step id memory_bytes operations parameters tensors validation")
  lu.assertEquals(#object.tensors, plan.tensor_count)
  for _, tensor in ipairs(object.tensors) do
    lu.assertEquals(list_keys(tensor), "name offset shape")
  end
  for _, choice in ipairs(object.choices) do
    lu.assertEquals(list_keys(choice), "value what why")
  end
  for _, operation in ipairs(object.operations) do -- only some have the keys `block` and `shape`
    lu.assertEquals(list_keys(operation):gsub("^block ", ""):gsub("shape ", ""),
      "count flops kept_bytes name parameters pass reads scratch_bytes times what")
  end
  lu.assertEquals(lists.sum(object.operations, function(operation)
    return operation.count * operation.parameters
  end), object.parameters)
end

function TestWords.test_json_comes_in_the_documented_order()
  local plan = build(resolve_everything())
  local text = json.encode(plan_page.make_json(plan), { indent = true, keyorder = plan_page.JSON_ORDER })
  lu.assertEquals(table.concat(lists.find_all(text, '\n  "([%w_]+)":'), " "),
    "id digest parameters flops_per_step memory_bytes validation tensors operations choices")
  lu.assertEquals(text:match('{%s*("name":.-)%s*}'):gsub("%s+", ""),
    '"name":"embed.token.weight","shape":[6,16],"offset":0')
  lu.assertEquals(canonical.format(json.decode(text)), canonical.format(plan_page.make_json(plan)))
end

-- The page lists the operations of both passes in order, block by block, with shapes, parameters, memory and FLOPs.
function TestWords.test_the_network_is_on_the_page()
  local text = plan_page.format_page(make_plan({ ["train.lengths"] = "{ 20, 20 }" }, make_task(2, 2)))
  local page = text:match("\n(network %s.-)\n\ntensors\n")
  support.assert_golden("tests/golden/network.txt", page)
  local own_page = plan_page.format_page(make_plan({ ["model.kind"] = "decoder",
    ["model.norm"] = "{ place = 'pre', kind = 'rms' }", ["model.activation"] = "swiglu", ["model.bias"] = "none",
    ["model.init"] = "xavier", ["model.tied"] = "true" }))
  lu.assertStrContains(own_page, "dropout 0.1, float32, a decoder, pre-norm, RMS norm, swiglu, no biases, "
    .. "initial values of xavier, tied output\n")
  lu.assertStrMatches(own_page, ".*\n    hidden +%[tokens%]%[256%] .* silu gate: gate_up\n.*")
  lu.assertStrMatches(own_page,
    ".*\n    dgate_up +%[tokens%]%[512%] .* gradient of the silu gate: dhidden, gate_up\n.*")
  lu.assertStrContains(own_page, "logits (products with the tokens' vectors), loss")
  local final_page = plan_page.format_page(make_plan({ ["model.output"] = "feedforward",
    ["model.output_bias"] = "false" }))
  lu.assertStrContains(final_page, ", a feed-forward part before the output layer, no bias in the output\n")
  lu.assertStrContains(final_page, "logits, loss: final_map")
  local last_page = plan_page.format_page(make_plan({ ["model.embedding"] = "linear",
    ["model.branch_activation"] = "gelu", ["model.readout"] = "last", ["task.kind"] = "even_pairs" }, make_task(2, 2)))
  lu.assertStrContains(last_page, "float32, linear embedding, gelu after the feed-forward part, "
    .. "answers at the last token of the input\n")
  lu.assertStrMatches(last_page, ".*\n    branch +%[tokens%]%[64%] .* gelu: branch_sum\n.*")
end

-- The graph has a node for every operation and an arrow for every value read; each block is drawn once.
function TestWords.test_the_graph_has_all_operations_and_values()
  local plan = make_plan({ ["model.norm.place"] = "pre" })
  local graph, arrows, nodes = network_page.draw_graph(plan), 0, 0
  for _, scope in ipairs(plan.network) do
    nodes = nodes + #scope.outside + #scope.operations
    for _, operation in ipairs(scope.operations) do
      arrows = arrows + #operation.reads
    end
  end
  lu.assertEquals(select(2, graph:gsub('" %[label="', "")), nodes)
  lu.assertEquals(select(2, graph:gsub('" %-> "', "")), arrows)
  lu.assertEquals(select(2, graph:gsub("subgraph", "")), 2)
  lu.assertStrContains(graph, 'label="layer, 5 times"')
  lu.assertStrContains(graph, '"s2.input_1" -> "s2.1";')
  for name, is_stored in pairs({ attended = true, norm1 = true, attention_output = false, sum1 = false }) do
    local line = graph:match(('[^\n]*label="%s\\n[^\n]*'):format(name))
    lu.assertEquals(line:find("fillcolor=lightgrey", 1, true) ~= nil, is_stored, name)
  end
  for line in graph:gmatch("[^\n]+") do
    lu.assertNotNil(line:find("[;{}]$"), line)
  end
end

function TestWords.test_the_text_of_a_plan_has_sizes_and_encoding()
  local text = plan_page.format_page(make_plan({}, make_task(2, 2)))
  lu.assertStrContains(text, "parameters  249,026\n")
  lu.assertStrContains(text, "5 layers, 8 heads x 8, width 64, feed-forward 256, dropout 0.1, float32")
  lu.assertStrContains(text, "encoding    no positional encoding\n")
  lu.assertNotStrContains(text, " \n")
  lu.assertStrMatches(text, ".*[^\n]\n")
  text = plan_page.format_page(build(resolve_everything()))
  lu.assertStrContains(text, "learned vectors are added to the token embedding, keys have a learned vector of the "
    .. "distance, the same for distances above 4, queries and keys are rotated (base 10000, YaRN x 4 from 41 "
    .. "positions); sorted positions drawn from 1 .. 1000, ascending distances drawn from 1 .. 1000, each side by "
    .. "itself; queries see themselves, 4 keys before and 2 after them; score = x.score + ")
  lu.assertStrContains(text, "distance draws per pass  2 ")
  lu.assertStrContains(text, "position draws per pass  3 ")
end

-- Training visits each position of a random range on average: steps times the mean tokens of a sequence (here 21.5),
-- divided by the size of the range. If positions are drawn for each sequence, the number of visits is also multiplied
-- by the sequences of a batch.
function TestWords.test_visits_of_a_position_are_steps_times_tokens_by_range()
  -- Returns the first word of the plan's text about visits, and of its text about draws.
  local function read_words(draw, steps)
    local sets = { ["encoding.additive.kind"] = "learned", ["train.steps"] = steps, ["train.batch"] = "128",
      ["encoding.positions"] = ("{ kind = 'randomized', max_position = 2000, draw = %q }"):format(draw) }
    local text = plan_page.format_page(make_plan(sets, make_task(2, 2)))
    return text:match("visits of a position%s+(%S+)"), text:match("position draws per pass%s+(%w+)")
  end
  lu.assertEquals({ read_words("pass", "100000") }, { "1,075", "1" })
  lu.assertEquals({ read_words("pass", "100") }, { "1.1", "1" }) -- 1.075, rounded
  lu.assertEquals({ read_words("sequence", "100000") }, { "137,600", "as" }) -- as many as sequences
  lu.assertNil(plan_page.format_page(make_plan({}, make_task(2, 2))):match("visits of a position"))
end

-- Returns the choices about the score on a plan's page: a list of { what, value, why }.
local function list_score_choices(encoding)
  return lists.map(plan_page.make_json(plan_encoding(encoding)).choices, function(choice)
    return choice.what:find("^score") and { choice.what, choice.value, choice.why } or nil
  end)
end

function TestWords.test_choices_of_a_score_are_its_tables_and_its_pair_loop()
  lu.assertEquals(list_score_choices("{ kind = 'none' }"), {})
  lu.assertEquals(list_score_choices("{ kind = 'alibi' }"), {
    { "score table by_distance", "[2][query - key]",
      "once per step: x.slope * (select(less(x.distance, 0), 0.5, 0) - abs(x.distance))" },
    { "score in the pair loop", "logit computed once", "x.score + by_distance; its gradient does not need the logit" },
  })
  lu.assertEquals(list_score_choices("{ kind = 'kerple_log' }"), {
    { "score table by_head", "[2]", "once per step: exp(x.log_p); its gradient goes to x.log_p" },
    { "score table by_head_2", "[2]", "once per step: exp(x.log_a); its gradient goes to x.log_a" },
    { "score table by_distance", "[2][query - key]", "once per step: -(by_head * log1p(by_head_2 * "
      .. "abs(x.distance))); its gradient goes to by_head, by_head_2" },
    { "score in the pair loop", "logit computed once", "x.score + by_distance; its gradient does not need the logit" },
  })
end

function TestWords.test_a_logit_is_computed_twice_if_its_gradient_needs_it()
  lu.assertEquals(list_score_choices("{ score = function(x) return tanh(x.score) + x.a * x.b * x.head end, "
    .. "parameters = { a = { init = 1 }, b = { per = 'layer', init = 2 } } }"), {
    { "score table by_head", "[2]",
      "once per step, for each layer: x.a * x.b * x.head; its gradient goes to x.a, x.b" },
    { "score in the pair loop", "logit computed twice",
      "tanh(x.score) + by_head; its gradient needs the logit, which the backward pass computes again" },
  })
  lu.assertEquals(list_score_choices("{ kind = 'log_length' }"), {
    { "score table scalar", "one number", "once per step: 0.22820491141866869 * log(x.query_length)" },
    { "score in the pair loop", "logit computed once", "x.score * scalar; its gradient does not need the logit" },
  })
end

function TestWords.test_the_text_of_a_plan_has_the_choices_of_a_score()
  local text = plan_page.format_page(plan_encoding("{ kind = 'window' }"))
  -- Columns are as wide as the longest value.
  lu.assertStrContains(text, "  score table by_distance  [query - key]             once per step: -select(less_equal(")
  lu.assertStrContains(text, "\n  score in the pair loop   logit computed once       x.score + by_distance; ")
  lu.assertStrContains(text, "\n  gpu attention            probabilities recomputed  a thread owns ")
end

function TestWords.test_comments_fit_a_line()
  local wide_plan = make_plan({ ["model.layers"] = "64", ["model.heads"] = "64", ["model.width"] = "1024",
    ["model.feedforward"] = "8192", precision = "float64", ["encoding.additive.kind"] = "learned",
    ["encoding.rotation.kind"] = "rope", ["encoding.rotation.base"] = "123456789012",
    ["encoding.positions.kind"] = "randomized", ["encoding.positions.max_position"] = "1048576",
    ["encoding.positions.sorted"] = "false" })
  local comments = wide_plan.comments
  for file, lines in pairs(comments) do
    for _, line in ipairs(lines.self or lines) do
      lu.assertTrue(#line <= 117, file .. ": " .. line)
      lu.assertStrMatches(line, "%S.*%S")
    end
  end
  lu.assertEquals(comments.attention.self, {
    "Self-attention over whole sequences, forward and backward: softmax(q k / sqrt(head width)) v.",
    "Learned vectors are added to the token embedding, queries and keys are rotated (base 1.23456789e+11); unsorted",
    "positions drawn from 0 .. 1048575.",
  })
end

TestPlanLua = {}

function TestPlanLua.test_plan_lua_reads_back()
  for _, sets in ipairs({ make_small_sets(), make_small_sets({ ["eval.lengths"] = "{ list = { 6, 10 } }",
    ["train.checkpoint.keep"] = "{ 10, 20 }", ["eval.during.every"] = "5", ["encoding.additive.kind"] = "learned",
    ["train.learning_rate"] = "0.1", ["train.optimizer.epsilon"] = "3e-9" }) }) do
    local plan = make_plan(sets)
    local text = plan_file.write(plan)
    lu.assertEquals(text:match("^%-%- Generated by Longhand; do not edit%. .-(%./longhand gen [^\n]*)\n"),
      "./longhand gen probe.lua")
    local read = assert(load(text, "=plan.lua", "t", {}))()
    for _, name in ipairs({ "id", "digest", "model_digest", "parameters", "parameter_storage", "flops_per_step" }) do
      lu.assertEquals(read[name], plan[name], name)
    end
    lu.assertEquals(canonical.format(read.resolved), canonical.format(plan.resolved))
    lu.assertEquals(read.resolved.train.learning_rate, plan.resolved.train.learning_rate)
    local choices = plan_choices.list(plan) -- without choices of tuning, which change no bit and are in tuned.h
    lu.assertEquals(#read.choices, #choices)
    for i, choice in ipairs(read.choices) do
      lu.assertEquals(choice, { choices[i].what, choices[i].value, choices[i].why })
    end
    lu.assertEquals(#read.tensors, plan.tensor_count)
    for i, tensor in ipairs(read.tensors) do
      local planned = plan.tensors[i]
      lu.assertEquals(tensor, { planned.name, planned.shape, offset = planned.offset, stride = planned.stride })
    end
  end
end

function TestPlanLua.test_plan_lua_reads_back_with_a_long_formula()
  local plan = plan_encoding("{ kind = 'fire' }")
  local text = plan_file.write(plan)
  for line in text:gmatch("[^\n]+") do
    lu.assertTrue(#line <= 120 or line:find('score = "', 1, true) ~= nil, line)
  end
  local read = assert(load(text, "=plan.lua", "t", {}))()
  for i, choice in ipairs(plan_choices.list(plan)) do
    lu.assertEquals(read.choices[i], { choice.what, choice.value, choice.why })
  end
end

TestDropout = {}

function TestDropout.test_every_rate_that_is_set_is_named()
  local function describe_dropout(model)
    return plan_page.format_dropout({ resolved = { model = model }, dropout = { rate_text = "0.1" } })
  end
  lu.assertEquals(describe_dropout({}), ", dropout 0.1")
  lu.assertEquals(describe_dropout({ hidden_dropout = 0.25 }), ", dropout 0.1, of hidden numbers 0.25")
  lu.assertEquals(describe_dropout({ attention_dropout = 0.2, embedding_dropout = 0 }),
    ", dropout 0.1, of attention's weights 0.2, of the embedding 0")
end

support.run()
