-- Errors in a user's own network: every message has the file, the line, what was found and what was expected.

local support = dofile("tests/lua/support.lua")

local canonical = require("base.canonical")
local handles = require("network.graph.handles")
local lu = require("luaunit")
local own_networks = require("own_networks")
local plan_page = require("lab.pages.plan_page")
local random = require("random")

local plan_network, accept_network, make_description = own_networks.plan_network, own_networks.accept_network,
  own_networks.make_description
local PLAIN, FULL = own_networks.PLAIN, own_networks.FULL

TestErrors = {}

-- Each mistake is a list of:
--   1   lines of the block in make_description, or the whole text of a file
--   2   the line that the message names
--   3   words of the message about what was found
--   4   words of the message about what was expected, or nil
--   5   true if item 1 is a whole text
local MISTAKES = {
  { [[b:norm("a", later) local later = h]], 5, '"later" is not defined', "local names" },
  { [[local later b:norm("a", later)]], 5, "value is nil", "a value that an operation has made" },
  { [[b:norm("a", x)]], 5, "belongs to the network", "block:input(value) and block:external(value)" },
  { [[local p = b:product("p", h, 32)
b:output(b:add(h, p))]], 6, "the summands differ in width: input has 16 channels, and p has 32", "equal widths" },
  { [[b:norm("a", h) b:norm("a", h)]], 5, "a and a cannot both be parameters of block layer", "different names" },
  { [[local f = b:feedforward(h, { hidden = 32, activation = "relu" })
local a = b:attention("self", h, h)
b:output(b:add(b:add(h, f), a))]], 6, "two values of block layer are named branch", "{ name = ... }" },
  { [[local n = b:norm("n", h)
b:output(b:add(h, b:activation("a", b:norm("m", h), "relu")))]], 5,
    "no operation reads the value n of block layer", "remove the line" },
  { [[b:output(b:add(b:add(h, b:attention("self", h, h)), b:attention("self", h, h)))]], 5,
    "two attentions are named self",
    "another name: { name = ... }" },
  { [[b:output(b:add(h, b:attention("self", b:norm("n", h), h)))]], 5, "queries of one value and keys of another",
    "the same value twice" },
  { [[b:output(b:add(h, b:attention("self", h, h, { name = "near" })))]], 5,
    'attention near has the option { name = ... }, but no attention before it is named "self"',
    "for the first attention" },
  { [[b:attention("cross", h, h)]], 5, 'no attention is named "cross"', "one of self" },
  { [[b:output(h)]], 5, "the output of block layer is its input", "an operation between" },
  { [[b:output(b:add(h, b:product("q", b:norm("n", b:product("p", h, 1040)), 16)))]], 5, "norm n of 1040 channels",
    "at most 1024 channels" },
  { [[b:output(b:product("same", h, 16))]], 5, "the output of block layer is a product of its input",
    "after the product" },
  { [[b:output(b:activation("a", b:product("same", h, 16), "relu"))]], 5, "is a product of its input",
    "after the product" },
  { [[b:output(b:product("up", h, 24))]], 5, "the width is 24", "a multiple of 16" },
  { [[b:output(b:add(h, b:feedforward(h, { activation = "gelu" })))]], 5, "the width is nil", "a multiple of 16" },
  { [[b:output(b:add(h, b:feedforward(h, { hidden = 32 })))]], 5, "the activation nil", "one of gelu" },
  { [[b:output(b:product("wide", h, 32))]], 5,
    "output of block layer differ in width: input has 16 channels, and wide has 32", "equal widths" },
  { [[b:output(b:gate("g", h, "silu"))]], 5, "the input of the gate, input, has the width", "a product of two parts" },
  { [[b:output(b:activation("a", h, "swish"))]], 5, 'the activation "swish"', "gelu, gelu_tanh, relu or silu" },
  { [[b:output(b:norm("n", h, "batch"))]], 5, 'the norm "batch"', "layer or rms" },
  { [[b:output(b:feedforward(h, { hidden = 32, activation = "tanh" }))]], 5, 'the activation "tanh"', "swiglu" },
  { [[b:output(b:feedforward(h, { hidden = 32, activation = "relu", branch_activation = "swiglu" }))]], 5,
    'the activation "swiglu"', "one of gelu, gelu_tanh, relu or silu" },
  { [[b:output(b:feedforward(h, { hiden = 32 }))]], 5, 'has no option "hiden"',
    "bias, branch_activation, hidden, hidden_dropout, name" },
  { [[b:output(h + h)]], 5, "values have no arithmetic", "block:add" },
  { [[b.output(h)]], 5, "is called on the value input", "a colon" },
  { [[b:output(b:norm("n", h), 5)]], 5, "is called with 2 arguments", "at most 1" },
  { [[h.width = 5]], 5, "the value input.width is set", "made by its methods" },
  { [[b:output(b:norm("n", h.out))]], 5, 'has no "out"', "name, width" },
  { make_description(FULL):gsub("local x = net:embed%(\"embedding\", net:stream%(\"source\"%), {",
    "local t = net:table(\"t\") %0 table = t,")
    :gsub('net:classify%(net:readout%(b.result, "last"%)', '%0, { tied = t }'), 6,
    "have no vectors of the output's symbols", 'model.kind = "decoder"', true },
  { [[net:attention("self", x, x)]], 5, 'the network has no "attention"', "additive, additive_dropout, block, " },
  { [[b:output(b:linear("n", h, 16))]], 5, 'has no "linear"', "product, result" },
  { [[b:output(b:product("n", h, model.wdith))]], 5, 'model has no "wdith"', "width" },
  { [[model.width = 32]], 5, "model.width is set", "cannot be set" },
  { make_description(FULL):gsub("local x = net", "net:table(\"spare\") %0"), 2,
    "no embedding uses the table spare",
    "remove the line", true },
  { make_description(FULL):gsub('"layer"', '"token"'), 3, "token and token cannot both be", "different names", true },
  { make_description(FULL):gsub('"layer"', '"view"'), 3, 'name is "view"', "generated code already uses", true },
  { [[local c = net:block("layer_backward", 1)]], 5, "block layer and block layer_backward", "begins with the other" },
  { [[b:output(b:add(h, b:attention("self", h, h, { name = "layer_near" })))]], 5,
    "block layer and attention layer_near",
    "begins with the other" },
  { [[local t = b:product("t", h, 16) b:output(b:add(t, b:product("t_transposed", h, 16)))]], 5,
    "t and t_transposed cannot both be parameters", "_transposed is appended" },
  { [[b:output(b:norm("while", h))]], 5, 'name is "while"', "not a word of C" },
  { [[b:output(b:add(h, b:attention("self", h, h, { name = "read" })))]], 5, 'name is "read"', "not a word of C" },
  { [[local c = net:block("all", 2, "Another.")]], 5, 'name is "all"', "generated code already uses" },
  { [[b:output(b:norm("Norm", h))]], 5, 'name is "Norm"', "a letter first" },
  { [[b:output(b:add(h, b:norm("n", h), 1))]], 5, "dropout is 1", "a share from 0 to below 1" },
  { [[local l = b:norm("n", h) b:output(b:add(h, l)) b:norm("m", h)]], 5,
    "block layer has an operation after its output",
    "last" },
  { [[local c = net:block("second", 2)
c:output(c:norm("n", c:input(b.result)))]], 6, "block layer has no result yet", "block:output" },
  { [[local c = b:block("inner", 2)]], 5, 'has no "block"', "product" },
  { [[net:block("layer", 2)]], 5, "two blocks are named layer", "different names" },
  { [[net:block("more", 2, nil, { loops = 0 })]], 5, "loops is 0", "a whole number from 1 to 64" },
  { [[net:block("more", 2, nil, { loops = 1.5 })]], 5, "loops is 1.5", "a whole number from 1 to 64" },
  { [[net:block("more", 2, nil, { times = 2 })]], 5, 'has no option "times"', "loops" },
  { [[net:block("more", 2, { loops = 2 })]], 5, "comment is a table", "a sentence" },
  { [[net:block("more", 64, nil, { loops = 64 })]], 5, "the blocks of the network have 4098 repetitions",
    "at most 4096" },
  { [[local v = b:norm("n", h)
for i = 1, 257 do v = b:add(v, h, 0.1) end]], 6, "block layer has 257 dropouts", "at most 256" },
  { [[local function f() return f() + 1 end f()]], 5, "calls itself without end", "nested calls" },
  { [[while true do end]], 5, "still runs after", "loop" },
  { [[local s = "x" while true do s = s .. s end]], 5, "memory", "computes little" },
  { [[assert(model.width > 16, "too narrow")]], 5, "too narrow", nil },
  { [[assert(nil, "\27[31mred" .. "\n")]], 5, "red", nil },
  { [[for i, option in ipairs(model.options) do end]], 5, "model.options is indexed with 1", "a name" },
  { [[local x = model[{}] ]], 5, "model is indexed with a table", "a name" },
  { [[os.exit()]], 5, '"os" is not defined; a network has no I/O', "ipairs" },
  { [[y = 5]], 5, '"y" is set as a global; a network has none', "constants" },
  { [[local n = nil b:output(n.x)]], 5, "attempt to index a nil value", nil },
  { "return 5", 1, "the file returns 5", "return function(net, model) ... end", true },
  { "local f = 1", 1, "the file returns nothing", "return function(net, model) ... end at its end", true },
  { "return function(net, model) end end", 1, "not valid Lua", nil, true },
  { make_description(FULL):gsub("net:classify", "net:norm('n', x)\n  %0"), 6,
    "no operation reads the value n of the network",
    "remove the line",
    true },
  { "return function(net, model)\n  local s = net:stream(\"s\")\nend", 3, "the network has no readout", "net:classify",
    true },
  { make_description("b:output(b:norm('n', h))"):gsub("model.layers", "0"), 3, "count is 0", "a whole number from 1",
    true },
  { make_description("b:output(b:norm('n', h))"):gsub("source", "target"), 2, "there is no stream target", '"source"',
    true },
  { [[local d = b:product("n", h, 16)
b:output(b:norm("m", b:product("dn", d, 16)))]], 6, "dn is the name of the gradient of n", "another name" },
  { [[local v = h
for i = 1, 600 do v = b:norm("n" .. i, v) end]], 6, "too many operations", "at most 500" },
  { make_description("b:output(b:norm('n', h))"):gsub("b:input%(x%)", "b:input(nil)"), 4, "value is nil", "a value",
    true },
  { [[b:norm('n', h)]], 6, "block layer has no result yet", "block:output(value) before it" },
  { make_description("b:norm('n', h)"):gsub("b.result", "x"), 3, "block layer has no output", "block:output(value)",
    true },
  { make_description("b:output(b:norm('n', b:external(x)))"):gsub("local h = ", ""), 3,
    "no operation reads the input of "
    .. "block layer", "reads it", true },
}

function TestErrors.test_errors_are_reported_with_their_line()
  for _, case in ipairs(MISTAKES) do
    local text, line, problem_text, expected, is_whole = table.unpack(case, 1, 5)
    local result, message = plan_network(is_whole and text or make_description(text))
    lu.assertTrue(result == nil, text)
    lu.assertStrContains(message, ("net.lua:%d:"):format(line), text)
    lu.assertStrContains(message, problem_text)
    lu.assertStrContains(message, expected or "nothing was written")
  end
end

-- Options that the description does not read, and options of a built-in network, are refused.
function TestErrors.test_unused_options_are_refused()
  local result, message = plan_network(PLAIN, { "model.options.hidden=3" })
  lu.assertTrue(result == nil)
  lu.assertStrContains(message,
    "--set model.options.hidden=3: error: model.options.hidden: the network of net.lua does not read this option")
  lu.assertStrContains(message, "an option that the network reads: kind, ratio")
  result, message = plan_network(PLAIN, nil,
    [[return { task = { kind = "bucket_sort" }, model = { options = { a = 1 } } }]])
  lu.assertTrue(result == nil)
  lu.assertStrContains(message, "model.options: cannot be used with a built-in network")
  lu.assertStrContains(message, "expected: model.source")
end

-- Facets of the encoding that the network does not use are refused.
function TestErrors.test_unused_encodings_are_reported()
  local function refuse(encoding, text, ...)
    local result, message = plan_network(text, nil, [[return { task = { kind = "bucket_sort" },
      model = { source = "net.lua", layers = 2, heads = 2, width = 16, feedforward = 32 },
      encoding = { kind = "]] .. encoding .. '" } }')
    lu.assertTrue(result == nil)
    for _, words in ipairs({ ... }) do
      lu.assertStrContains(message, words)
    end
  end
  refuse('none", lines = { { head = 0, direction = 1, line = -1, value = 1 } }, kind = "none', make_description(FULL),
    "encoding.lines: the network of net.lua does not read this", "an attention")
  refuse("sinusoid", make_description(FULL):gsub(", place = net.additive", ""),
    "spec/encodings/sinusoid.lua:", "encoding.additive.kind: the network of net.lua does not read this",
    "place = net.additive")
  refuse("rope", make_description(FULL), "encoding.rotation.kind: the network of net.lua does not read this",
    "an attention")
  refuse("alibi", make_description(FULL), "encoding.score: the network of net.lua does not read this", "an attention")
  refuse("window", make_description(FULL), "the network of net.lua does not read this")
  accept_network(make_description(FULL))
end

-- Rates of dropout that the network does not use are refused. An attention has the spec's rate, or its own.
function TestErrors.test_rates_of_dropout_come_from_the_spec_or_the_description()
  local text = make_description([[local s = b:add(h, b:attention("self", h, h%s), model.dropout)
b:output(b:norm("n", b:add(s, b:feedforward(s, { hidden = 32, activation = "relu"%s }), model.dropout)))]])
  local function plan_with(attention, feedforward, ...)
    return plan_network(text:format(attention, feedforward), { ... })
  end
  local _, message = plan_with("", "", "model.hidden_dropout=0.2")
  lu.assertStrContains(message, "model.hidden_dropout: the network of net.lua does not read this")
  lu.assertStrContains(message, "hidden_dropout = model.hidden_dropout")
  _, message = plan_with("", "", "model.embedding_dropout=0.2")
  lu.assertStrContains(message, "model.embedding_dropout: the network of net.lua does not read this")
  lu.assertStrContains(message, "dropout = net.additive_dropout")
  _, message = plan_with(", { dropout = 0.2 }", "", "encoding.normaliser.kind=geometric")
  lu.assertStrContains(message, "net.lua:5:")
  lu.assertStrContains(message, "attention self is geometric, and its weights have dropout")
  local function list_rates(...) -- arguments as of plan_with
    local texts = {}
    for _, d in ipairs(accept_network(text:format(select(1, ...), select(2, ...)), { select(3, ...) }).dropouts) do
      texts[d.name] = d.rate_text
    end
    return texts
  end
  local rate_of_spec = ", hidden_dropout = model.hidden_dropout"
  lu.assertEquals(list_rates("", rate_of_spec), { BRANCH = "0.1" })
  lu.assertEquals(list_rates("", rate_of_spec, "model.hidden_dropout=0.2", "model.attention_dropout=0.3"),
    { BRANCH = "0.1", HIDDEN = "0.2", ATTENTION = "0.3" })
  lu.assertEquals(list_rates(", { dropout = 0.4 }", "", "model.attention_dropout=0.3"),
    { BRANCH = "0.1", ATTENTION = "0.4" })
  lu.assertEquals(list_rates(", { dropout = 0 }", "", "model.attention_dropout=0.3"), { BRANCH = "0.1" })
end

-- A field that a description does not read is refused if it is set; if it is not set, it is not on the plan's page.
function TestErrors.test_unused_fields_are_reported()
  for _, set in ipairs({ "tied=true", "activation=gelu", "branch_activation=relu", "bias=all", "norm.kind=rms",
    "norm.place=pre", "norm.embedding=true", "output=feedforward", "output_bias=false" }) do
    local name = set:match("^[^=]+")
    local result, message = plan_network(make_description(FULL), { "model." .. set, "model.kind=decoder" })
    lu.assertTrue(result == nil, set)
    lu.assertStrContains(message, ("model.%s: the network of net.lua does not read this"):format(name))
    local reading = make_description(FULL):gsub("local x = net", ("assert(model.%s ~= nil, 'x') %%0"):format(name))
    lu.assertStrContains(plan_page.format_page(accept_network(reading, { "model." .. set, "model.kind=decoder" })),
      "network net.lua")
  end
  local text = plan_page.format_page(accept_network(make_description(FULL)))
  lu.assertStrContains(text, "\nmodel       2 layers, width 16, float32, network net.lua")
end

-- Words of C, C++ and CUDA are refused as names; the name of a gradient avoids them.
function TestErrors.test_words_of_compilers_are_refused_as_names()
  for _, word in ipairs({ "asm", "bool", "true", "typeof", "linux", "unix", "new", "this", "class", "or", "not",
    "template", "operator", "private", "do", "static_assert" }) do
    for _, text in ipairs({ make_description(('b:output(b:add(h, b:product("%s", h, 16)))'):format(word)),
      make_description(FULL):gsub('"layer"', ('"%s"'):format(word)),
      (make_description(FULL):gsub("local x = net", ('net:table("%s") %%0'):format(word))) }) do
      local result, message = plan_network(text)
      lu.assertTrue(result == nil, word)
      lu.assertStrContains(message, ('name is "%s"'):format(word))
      lu.assertStrContains(message, "not a word of C, C++ or CUDA")
    end
  end
  local plan = accept_network(make_description([[local o = b:product("o", b:norm("ouble", h), 16)
b:output(b:add(h, b:activation("act", o, "gelu")))]]))
  lu.assertStrContains(plan_page.format_page(plan), " d_o ")
  lu.assertStrContains(plan_page.format_page(plan), " d_ouble ")
  local _, message = plan_network(make_description([[local o = b:product("o", h, 16)
b:output(b:add(o, b:norm("d_o", o)))]]))
  lu.assertStrContains(message, "d_o is the name of the gradient of o")
end

-- Arguments of random descriptions.
local WORDS = { "nil", "0", "-1", "1", "2", "16", "32", "1e300", "0/0", "1/0", "0.5", "true", "false", '"x"',
  '"self"', '"last"', '"relu"', '"rms"', '"swiglu"', '"input"', '"norm1"', '""', '"\\0"', "{}", "{ 1 }",
  '{ "a", "b" }', "{ parts = { 'a', 'b' } }", "{ hidden = 32, activation = 'gelu' }", "{ [1] = h }", "{ name = 'x' }",
  "{ table = 5 }", "{ table = net:table('t') }", "{ tied = net }", "{ place = net.additive }", "{ loops = 2 }",
  "model", "model.norm", "model.options", "model.options[1]", "net", "b", "x", "h", "net.additive", "net:stream('s')",
  "net:readout(x, 'last')", "b.result", "function() end", "ipairs", "net.block", "setmetatable" }

local function make_random_text(rng)
  local methods, lines = canonical.sort_keys(handles.METHODS), {}
  for i = 1, rng:pick_number(4) - 1 do
    local arguments = {}
    for j = 1, rng:pick_number(5) - 1 do
      arguments[j] = rng:pick(WORDS)
    end
    lines[i] = ("  local v%d = %s%s%s(%s)"):format(i, rng:is_one_in(2) and "net" or "b",
      rng:is_one_in(12) and "." or ":",
      rng:pick(methods), table.concat(arguments, ", "))
  end
  return make_description(table.concat(lines, "\n") .. (rng:is_one_in(2) and "\n" .. FULL or ""))
end

-- Each description gives a plan or a message with a line of the file, never an internal error.
function TestErrors.test_any_description_ends_in_a_plan_or_a_message()
  local refusal_count = 0
  for seed = 1, 200 do
    local text = make_random_text(random(seed))
    local result, message = plan_network(text)
    refusal_count = refusal_count + (result and 0 or 1)
    lu.assertTrue(result ~= nil or message:find("^net%.lua:%d+:%d+: error: ") ~= nil, ("seed %d: %s\n%s"):format(seed,
      message, text))
  end
  lu.assertTrue(refusal_count > 100 and refusal_count < 200, refusal_count)
end

-- A description cannot read the internal fields of objects.
function TestErrors.test_objects_are_opaque()
  local text = [[
    local h = net:stream("s")
    for _, word in ipairs({ "real", "name", "index", "kind" }) do
      local value = h[word]
    end]]
  local result, message = plan_network("return function(net, model)\n" .. text .. "\nend")
  lu.assertTrue(result == nil)
  lu.assertStrContains(message, 'has no "real"')
  lu.assertStrContains(message, "no field: it is only an argument of methods")
end

support.run()
