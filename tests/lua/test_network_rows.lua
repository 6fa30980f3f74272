-- Rows that a network's operations compute: unused rows of the last layer are left out, and equal rows are computed
-- once for each symbol.

local support = dofile("tests/lua/support.lua")

local built_networks = require("built_networks")
local derive_lists = require("network.lists.scope_lists").derive
local labelled_rows = require("network.lists.labelled_rows")
local lu = require("luaunit")
local networks = require("networks")
local vocabulary_rows = require("network.lists.vocabulary_rows")

local build, describe_embedded, describe_block = built_networks.build, built_networks.describe_embedded,
  built_networks.describe_block

-- ---- unused rows ----

TestLabelledRows = {}

-- Returns the two lists of a scope as one text, with "+" before operations on labelled rows alone, and "~" before a
-- buffer that is expanded to all rows.
local function mark_partial(partial, lists_by_scope, scope)
  local words = {}
  for _, op in ipairs(lists_by_scope[scope].forward) do
    words[#words + 1] = (partial.labelled_work[op] and "+" or "") .. op.out.name
  end
  words[#words + 1] = "|"
  local function add_expansions(key)
    for _, buffer in ipairs(partial.expansions[key] or {}) do
      words[#words + 1] = "~" .. buffer.name
    end
  end
  for _, b in ipairs(lists_by_scope[scope].backward) do
    add_expansions(b)
    words[#words + 1] = (partial.labelled_work[b] and "+" or "") .. b.kind
  end
  add_expansions(scope)
  return table.concat(words, " ")
end

local function describe_post_norm(b, h)
  local s = b:norm("norm1", b:add(h, b:attention("self", h, h)))
  return b:norm("norm2", b:add(s, b:product("map", s, networks.WIDTH)))
end

local POST_NORM = "query_key_value +attended +branch +norm1 +map +output"
  .. " | +norm_grad +copy +weight_grad +input_grad +norm_grad +weight_grad +input_grad ~dattended attention_grad"
  .. " weight_grad ~gradient input_grad"
local ALL_ROWS = "embedding output logits | classify_grad block_grad embed_grad"

-- { description, the network's lists, its block's lists }; without lists all rows are used.
local LABELLED = {
  ["keys and values of all tokens, nothing else"] = { describe_block(2, describe_post_norm), ALL_ROWS, POST_NORM },
  ["a stack that runs twice, and a norm behind it"] = { describe_embedded(function(net, x)
    local b = net:block("layer", 2, "A block.", { loops = 2 })
    b:output(describe_post_norm(b, b:input(x)))
    return net:norm("norm", b.result)
  end), "embedding output +norm logits | classify_grad +norm_grad block_grad embed_grad", POST_NORM },
  ["pre-norm: the stream's gradient is of labelled rows up to the first norm"] = { describe_block(1, function(b, h)
    local y = b:norm("norm1", h)
    return b:add(h, b:attention("self", y, y))
  end), ALL_ROWS, "norm1 query_key_value +attended +branch +output | +weight_grad +input_grad ~dattended attention_grad"
    .. " weight_grad input_grad ~gradient norm_grad" },
  ["a gradient of labelled rows that is added to a gradient of all rows"] = { describe_block(1, function(b, h)
    local s = b:product("map", h, networks.WIDTH)
    return b:add(s, b:attention("self", h, h))
  end) },
  ["no attention"] = { describe_embedded(function(net, x)
    return net:product("map", x, networks.WIDTH)
  end), "embedding +map logits | classify_grad +weight_grad +input_grad ~gradient embed_grad" },
  ["two streams: the target is read out at every token"] = { function(net)
    local tokens = net:table("token")
    local x = net:embed("memory", net:stream("source"), { table = tokens, scale = 2 })
    local b = net:block("layer", 1, "A block.")
    local h = b:input(net:embed("embedding", net:stream("target"), { table = tokens, scale = 2 }))
    b:output(b:add(h, b:attention("cross", h, b:external(x))))
    net:classify(net:readout(b.result, "last"))
  end },
}

function TestLabelledRows.test_unused_rows_are_left_out()
  for name, case in pairs(LABELLED) do
    local net = build(case[1])
    local lists_by_scope = derive_lists(net)
    local partial_rows = labelled_rows.derive(net, lists_by_scope)
    local block = partial_rows and net.scopes.layer
    lu.assertEquals({ partial_rows and mark_partial(partial_rows, lists_by_scope, net),
      block and mark_partial(partial_rows, lists_by_scope, block) },
      { case[2], case[3] }, name)
  end
end

-- ---- equal rows ----

TestVocabularyRows = {}

-- Returns the two lists of a block as one text, with "*" before operations on the vocabulary's rows, "=" before a value
-- whose rows are copied to all tokens, and "^" before a buffer of gradients that are summed by symbol.
local function mark_computed_once(symbol_rows, lists_by_scope)
  local words, list = {}, lists_by_scope[symbol_rows.block]
  for _, op in ipairs(list.forward) do
    words[#words + 1] = (symbol_rows.repeated[op.out] and "=" or "") .. (symbol_rows.by_symbol[op] and "*" or "")
      .. op.out.name
  end
  words[#words + 1] = "|"
  local function add_sums(key)
    for _, buffer in ipairs(symbol_rows.summed[key] or {}) do
      words[#words + 1] = "^" .. buffer.name
    end
  end
  for _, b in ipairs(list.backward) do
    add_sums(b)
    words[#words + 1] = (symbol_rows.by_symbol[b] and "*" or "") .. b.kind
  end
  add_sums(symbol_rows.block)
  return table.concat(words, " ")
end

-- Describes a block on vectors of tokens, which are embedded with these options. add_reader(net, result of the block,
-- vectors), if given, adds another reader of the vectors and returns the value that is read out.
local function describe_on_tokens(options, block, add_reader)
  return function(net)
    options.table, options.scale = net:table("token"), 2
    local x = net:embed("embedding", net:stream("source"), options)
    local b = net:block("layer", 2, "A block.")
    b:output(block(b, b:input(x)))
    net:classify(net:readout(add_reader and add_reader(net, b.result, x) or b.result, "last"))
  end
end

local LATER_GRADIENTS = " | weight_grad input_grad attention_grad"

-- { description, the block's lists }; without lists all rows are of tokens.
local EQUAL_ROWS = {
  ["post-norm: the first product"] = { describe_on_tokens({}, describe_post_norm),
    "=*query_key_value attended branch norm1 map output | norm_grad copy weight_grad input_grad norm_grad weight_grad"
    .. " input_grad attention_grad ^dquery_key_value *weight_grad ^gradient *input_grad" },
  ["pre-norm: the norm, too"] = { describe_on_tokens({}, function(b, h)
    local y = b:norm("norm1", h)
    return b:add(h, b:attention("self", y, y))
  end), "*norm1 =*query_key_value attended branch output" .. LATER_GRADIENTS
    .. " ^dquery_key_value *weight_grad *input_grad ^gradient *norm_grad" },
  ["a reader of a value that others read for all tokens"] = { describe_on_tokens({}, function(b, h)
    local s = b:product("map", h, networks.WIDTH)
    return b:add(s, b:attention("self", s, s))
  end), "=*map query_key_value attended branch output | copy weight_grad input_grad attention_grad weight_grad"
    .. " input_grad ^dmap_own *weight_grad *input_grad" },
  ["a rectified value that others read is rectified for all tokens"] = { describe_on_tokens({}, function(b, h)
    local s = b:activation("act", b:product("map", h, networks.WIDTH, { bias = true }), "relu")
    local y = b:norm("norm1", s)
    return b:add(b:add(h, b:attention("self", y, y)), s)
  end), "=*act norm1 query_key_value attended branch sum1 output | copy copy weight_grad input_grad attention_grad"
    .. " weight_grad input_grad norm_grad relu_grad ^dact_own *weight_grad ^dinput_own *input_grad *copy" },
  ["a value that is dropped out has rows of tokens"] = { describe_on_tokens({}, function(b, h)
    local y = b:activation("act", b:product("map", h, networks.WIDTH), "gelu", 0.3)
    return b:add(h, b:attention("self", y, y))
  end), "=*map act query_key_value attended branch output" .. LATER_GRADIENTS
    .. " weight_grad input_grad dropout_grad activation_grad ^dmap *weight_grad ^gradient *input_grad" },
  ["no product"] = { describe_on_tokens({}, function(b, h)
    local y = b:activation("act", b:norm("norm1", h), "gelu", 0.3)
    return b:add(h, b:attention("self", y, y))
  end) },
  ["a gradient of tokens that is added to a gradient of symbols"] = { describe_on_tokens({}, function(b, h)
    local activation = b:activation("act", h, "gelu", 0.3)
    local product = b:product("map", h, networks.WIDTH)
    return b:add(activation, b:add(product, b:attention("self", h, h), 0.3))
  end) },
  ["an embedding that is dropped out"] = { describe_on_tokens({ dropout = 0.3 }, describe_post_norm) },
  ["an embedding that others read, too"] = { describe_on_tokens({}, describe_post_norm, function(net, x, embedding)
    return net:add(x, embedding)
  end) },
}

function TestVocabularyRows.test_operations_on_rows_of_symbols_are_computed_once_per_symbol()
  for name, case in pairs(EQUAL_ROWS) do
    local net = build(case[1])
    local lists_by_scope = derive_lists(net)
    local symbol_rows = vocabulary_rows.derive(net, lists_by_scope)
    lu.assertEquals(symbol_rows and mark_computed_once(symbol_rows, lists_by_scope), case[2], name)
  end
end

support.run()
