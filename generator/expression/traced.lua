-- Tracing objects, which stand for numbers while a score function is traced, and the functions that a spec may call.
--
-- Input: plain numbers, or the objects that M.trace hands to a function of a spec as its argument x. Output: plain
-- numbers from plain numbers, so that a spec can compute its constants; else nodes of the builder (expression/ir.lua).
-- Invariants: an object shows nothing of itself: every use but arithmetic and these functions raises; every mistake is
-- raised as { problem = true, word, what, expected, hint }, which the sandbox maps to a line and column. While code of
-- this side runs, strings have their methods; a spec's never do.

local diagnostics = require("base.diagnostics")
local functions = require("expression.functions")
local nearest = require("base.nearest")

local M = {}

local show = diagnostics.show

local nodes = setmetatable({}, { __mode = "k" })  -- value -> its node
local tables = setmetatable({}, { __mode = "k" }) -- table parameter -> the parameter
local roots = setmetatable({}, { __mode = "k" })  -- x -> its session

local session -- of the function that is being traced: { builder, score, parameters, symbols, used }

local TRACED, TABLE, ROOT = {}, {}, {}

M.SYMBOLS = { "score", "query", "key", "distance", "query_index", "key_index", "head", "heads", "layer", "layers",
  "query_length", "key_length", "causal" }

local LONGEST_SUM = 1024 -- terms
local LARGEST = 2048     -- operations of a formula; the builder takes more, which derivatives need

-- Raises a mistake of the spec; word: what stands in the spec where it was made.
local function refuse(word, what, expected, hint)
  error({ problem = true, word = word, what = what, expected = expected, hint = hint })
end

local function refuse_problem(word, problem)
  refuse(problem.word or word, problem.what, problem.expected, problem.hint)
end

local function wrap(node)
  local object = setmetatable({}, TRACED)
  nodes[object] = node
  return object
end

-- ---- the border: strings' methods on this side, none on the other ----

local STRINGS = debug.getmetatable("")

local function leave(metatable, ...)
  debug.setmetatable("", metatable)
  return ...
end

-- A function that a spec may call, from one of ours.
local function exported(f)
  return function(...)
    local outside = debug.getmetatable("")
    debug.setmetatable("", STRINGS)
    return leave(outside, f(...))
  end
end

-- Calls a function of the spec from one of ours.
local function call_back(f, argument)
  debug.setmetatable("", nil)
  return leave(STRINGS, (f(argument)))
end

-- ---- arguments ----

-- Says that a table stands where one number is needed.
local function refuse_table(object)
  local p = tables[object]
  refuse(p.local_name, ("x.%s has %d values: read one with lookup(x.%s, index)"):format(p.local_name, p.size,
    p.local_name), "a single number")
end

local function is_finite(value)
  return value == value and value ~= math.huge and value ~= -math.huge
end

-- A number or a node from an argument; anything else raises.
local function number_of(word, value)
  if nodes[value] then
    return nodes[value]
  elseif type(value) == "number" then
    if not is_finite(value) then
      refuse(word, ("%s takes %s, which is not a finite number"):format(word,
        value ~= value and "NaN" or tostring(value)), "finite numbers", "was something divided by zero?")
    end
    return value
  elseif tables[value] then
    refuse_table(value)
  elseif roots[value] then
    refuse(word, ("%s takes x itself, which holds all symbols"):format(word), "one of them, such as x.score")
  elseif type(value) == "boolean" then
    refuse(word, ("%s takes a truth value"):format(word), "numbers", "select(condition, a, b) makes a number of one")
  end
  refuse(word, value == nil and ("%s takes nothing (nil) for a number"):format(word)
    or ("%s takes %s for a number"):format(word, show(value)), "numbers, and what x holds")
end

-- A truth value: a boolean or a node.
local function truth_of(word, value)
  if type(value) == "boolean" then
    return value
  elseif nodes[value] and nodes[value].type == "truth" then
    return nodes[value]
  end
  if not nodes[value] then
    number_of(word, value)
  end
  refuse(word, ("%s takes a number for a truth value"):format(word),
    "what less, less_equal, equal, all, any and negate give")
end

local function count_arguments(word, count, least, most)
  if count < least or most and count > most then
    local legal = not most and ("%d or more arguments"):format(least)
      or ("%d argument%s"):format(least, least == 1 and "" or "s")
    refuse(word, ("%s has %d argument%s"):format(word, count, count == 1 and "" or "s"), legal)
  end
end

-- What the builder gave, as a tracing object.
local function result(word, node, problem)
  if not node then
    refuse_problem(word, problem)
  elseif session.builder.count > LARGEST then
    refuse(word, ("the formula has more than %d operations"):format(LARGEST), "a smaller one",
      "sum(n, function(m) ... end) repeats one operation")
  elseif node.op == "number" and not is_finite(node.value) then
    refuse(word, ("%s gives no finite number here"):format(word), "arguments for which it does")
  end
  return wrap(node)
end

-- The traced result of an operation on nodes and numbers.
local function build(word, op, ...)
  return result(word, session.builder:apply(op, ...))
end

-- The same of two or more arguments, from the left.
local function build_chain(word, op, first, ...)
  local chain = first
  for _, argument in ipairs({ ... }) do
    chain = build(word, op, nodes[chain] or chain, argument)
  end
  return chain
end

-- ---- functions of numbers ----

local function plain_text(arguments)
  local words = {}
  for i, value in ipairs(arguments) do
    words[i] = diagnostics.number(value)
  end
  return table.concat(words, ", ")
end

local function plain(word, op, arguments)
  local value, row = functions.plain[op](table.unpack(arguments)), functions.rows[op]
  if not is_finite(value) then
    local name = word:find("%a") and word or op
    refuse(word, ("%s(%s) is not a finite number"):format(name, plain_text(arguments)),
      row and row.expected or "arguments for which it is")
  end
  return value
end

local function arithmetic(word, op, ...)
  local arguments, traced = { ... }, false
  for i = 1, select("#", ...) do
    arguments[i] = number_of(word, arguments[i])
    traced = traced or type(arguments[i]) ~= "number"
  end
  if traced then
    local row = functions.rows[op]
    return (row and not row.most and build_chain or build)(word, op, table.unpack(arguments))
  end
  return plain(word, op, arguments)
end

local function numeric(name, most)
  return exported(function(...)
    count_arguments(name, select("#", ...), most or 2, most)
    return arithmetic(name, name, ...)
  end)
end

-- ---- truth ----

local function comparison(name)
  return exported(function(...)
    count_arguments(name, select("#", ...), 2, 2)
    local a, b = ...
    a, b = number_of(name, a), number_of(name, b)
    if type(a) == "number" and type(b) == "number" then
      return functions.plain[name](a, b)
    end
    return build(name, name, a, b)
  end)
end

-- all and any: a plain truth value decides or drops out.
local function junction(name, deciding)
  return exported(function(...)
    count_arguments(name, select("#", ...), 2)
    local open, decided = {}, false
    for i = 1, select("#", ...) do
      local value = truth_of(name, (select(i, ...)))
      decided = decided or value == deciding
      open[#open + 1] = type(value) ~= "boolean" and value or nil
    end
    if decided or #open == 0 then
      return decided == deciding
    end
    return #open == 1 and wrap(open[1]) or build_chain(name, name, table.unpack(open))
  end)
end

local function negate(...)
  count_arguments("negate", select("#", ...), 1, 1)
  local value = truth_of("negate", (...))
  if type(value) == "boolean" then
    return not value
  end
  return build("negate", "negate", value)
end

local function choose(...)
  count_arguments("select", select("#", ...), 3, 3)
  local condition, a, b = ...
  condition = truth_of("select", condition)
  number_of("select", a)
  number_of("select", b)
  if type(condition) == "boolean" then
    return condition and a or b
  end
  return build("select", "select", condition, nodes[a] or a, nodes[b] or b)
end

-- ---- tables, buckets, sums ----

local function lookup(...)
  count_arguments("lookup", select("#", ...), 2, 2)
  local object, index = ...
  local p = tables[object]
  if not p then
    refuse("lookup", ("lookup reads a table, and its first argument is %s"):format(nodes[object] and "a single number"
      or object == nil and "nothing (nil)" or roots[object] and "x itself" or show(object)),
      "a parameter with shape or index, as in lookup(x.table, index)")
  end
  index = number_of("lookup", index)
  return result("lookup", session.builder:lookup(p, type(index) == "number" and session.builder:number(index) or index))
end

local function check_edges(edges)
  if type(edges) ~= "table" or nodes[edges] or tables[edges] or roots[edges] or #edges == 0 then
    refuse("bucket", "bucket has no list of edges", "bucket(value, { 1, 2, 4 })")
  end
  local copy = {}
  for i = 1, #edges do
    local edge = edges[i]
    if type(edge) ~= "number" or not is_finite(edge) then
      refuse("bucket", ("edge %d is %s"):format(i, show(edge)), "ascending numbers")
    elseif i > 1 and edge <= copy[i - 1] then
      refuse("bucket", ("edge %d, %s, follows %s"):format(i, show(edge), show(copy[i - 1])), "ascending numbers")
    end
    copy[i] = edge
  end
  return copy
end

local function bucket(...)
  count_arguments("bucket", select("#", ...), 2, 2)
  local value, edges = ...
  value, edges = number_of("bucket", value), check_edges(edges)
  if type(value) ~= "number" then
    return build("bucket", "bucket", value, edges)
  end
  local count = 0
  for i, edge in ipairs(edges) do
    count = edge <= value and i or count
  end
  return count
end

local function sum(...)
  count_arguments("sum", select("#", ...), 2, 2)
  local count, f = ...
  local whole = type(count) == "number" and math.tointeger(count)
  if not whole or whole < 1 or whole > LONGEST_SUM then
    refuse("sum", ("%s is no number of terms"):format(nodes[count] and "a traced value" or show(count)),
      ("a constant integer from 1 to %d, as in sum(8, function(m) return ... end), m = 0 .. 7"):format(LONGEST_SUM))
  elseif type(f) ~= "function" then
    refuse("sum", "sum has no function", "sum(8, function(m) return ... end)")
  end
  if not session then
    local total = 0
    for m = 0, whole - 1 do
      total = total + number_of("sum", call_back(f, m))
    end
    return total
  end
  return result("sum", session.builder:sum(whole, function(m)
    local term = number_of("sum", call_back(f, wrap(m)))
    return type(term) == "number" and session.builder:number(term) or term
  end))
end

-- What a spec may call.
M.functions = {
  less = comparison("less"), less_equal = comparison("less_equal"), equal = comparison("equal"),
  all = junction("all", false), any = junction("any", true), negate = exported(negate),
  select = exported(choose), lookup = exported(lookup), bucket = exported(bucket), sum = exported(sum),
}

for name, row in next, functions.rows do
  M.functions[name] = numeric(name, row.most)
end

M.names = {}
for name in next, M.functions do
  M.names[#M.names + 1] = name
end
table.sort(M.names)

-- ---- operators ----

local OPERATORS = { __add = { "+", "add" }, __sub = { "-", "sub" }, __mul = { "*", "mul" }, __div = { "/", "div" },
  __pow = { "^", "pow" }, __mod = { "%", "mod" } }

local function operator(word, op)
  return exported(function(a, b)
    return arithmetic(word, op, a, b)
  end)
end

local function install_arithmetic(metatable)
  for event, entry in next, OPERATORS do
    metatable[event] = operator(entry[1], entry[2])
  end
  metatable.__idiv = exported(function(a, b)
    return arithmetic("//", "floor", arithmetic("//", "div", a, b))
  end)
  metatable.__unm = exported(function(a)
    return arithmetic("-", "neg", a)
  end)
end

local FORBIDDEN = {
  __lt = { "<", "a traced value is compared", "less(a, b)" },
  __le = { "<=", "a traced value is compared", "less_equal(a, b)" },
  __eq = { "==", "a traced value is compared", "equal(a, b)" },
  __concat = { "..", "`..` joins texts, and a score is a number", "arithmetic" },
  __len = { "#", "`#` of a traced value", "x.query_length or x.key_length for the length of a sequence" },
  __band = { "&", "`&` of a traced value", "arithmetic; all(a, b) joins truth values" },
  __bor = { "|", "`|` of a traced value", "arithmetic; any(a, b) joins truth values" },
  __bxor = { "~", "`~` of a traced value", "arithmetic; negate(a) turns a truth value round" },
  __bnot = { "~", "`~` of a traced value", "arithmetic; negate(a) turns a truth value round" },
  __shl = { "<<", "`<<` of a traced value", "a * 2" },
  __shr = { ">>", "`>>` of a traced value", "floor(a / 2)" },
}

local function install_refusals(metatable)
  for event, entry in next, FORBIDDEN do
    metatable[event] = exported(function()
      refuse(entry[1], entry[2], entry[3])
    end)
  end
  metatable.__metatable = "traced"
end

for _, metatable in next, { TRACED, TABLE, ROOT } do
  install_arithmetic(metatable)
  install_refusals(metatable)
end

local function key_text(key)
  return type(key) == "string" and key or nil
end

-- What a formula may use, for tracers in other languages: names of functions and symbols, the words of operators by
-- their events, and what is said where an event is refused.
function M.facts()
  local operators, refused = { __idiv = "//", __unm = "-" }, {}
  for event, entry in next, OPERATORS do
    operators[event] = entry[1]
  end
  for event, entry in next, FORBIDDEN do
    refused[event] = { what = entry[2], expected = entry[3] }
  end
  return { functions = M.names, symbols = M.SYMBOLS, operators = operators, refused = refused }
end

TRACED.__index = exported(function(_, key)
  refuse(key_text(key), "a traced number has no fields", "its value alone", type(key) ~= "string"
    and "lookup(x.table, index) reads a table" or nil)
end)

TRACED.__newindex = exported(function(_, key)
  refuse(key_text(key), "a field of a traced number is set", "a local name: local a = ...")
end)

TRACED.__call = exported(function()
  refuse(nil, "a traced number is called like a function", "the name of a function: " .. table.concat(M.names, ", "))
end)

TABLE.__index, TABLE.__call = exported(refuse_table), exported(refuse_table)

TABLE.__newindex = exported(function(object)
  refuse(tables[object].local_name, "a table parameter is set", "its values stand in the field parameters")
end)

-- ---- x ----

-- Everything that x holds, sorted as the lists give it: symbols, then parameters.
local function legal_names()
  local names, own = table.move(M.SYMBOLS, 1, #M.SYMBOLS, 1, {}), {}
  for name in next, session.parameters do
    own[#own + 1] = name
  end
  table.sort(own)
  return table.move(own, 1, #own, #names + 1, names)
end

local function parameter(p)
  session.used[p.local_name] = true
  if p.size then
    local object = setmetatable({}, TABLE)
    tables[object] = p
    return object
  elseif p.inlined then
    return wrap(session.builder:number(p.values[1]))
  end
  return wrap(session.builder:parameter(p))
end

local function symbol(name)
  if name == "score" and session.score then
    session.symbols.score = true
    return wrap(session.score)
  elseif name == "heads" or name == "layers" or name == "causal" then
    return session[name] -- plain, so that a `for` can count to it, and a list be chosen
  end
  local node, problem = session.builder:symbol(name)
  if not node then
    refuse_problem(name, problem)
  end
  session.symbols[name] = true
  return wrap(node)
end

ROOT.__index = exported(function(object, name)
  if roots[object] ~= session then
    refuse(key_text(name), "x is used outside the function that it was given to", "each score function uses its own x")
  elseif session.parameters[name] then
    return parameter(session.parameters[name])
  end
  for _, legal in ipairs(M.SYMBOLS) do
    if legal == name then
      return symbol(name)
    end
  end
  local names = legal_names()
  refuse(key_text(name), ("unknown symbol x.%s"):format(type(name) == "string" and name or "[...]"),
    table.concat(names, ", "), nearest.hint(name, names, "x.%s"))
end)

ROOT.__newindex = exported(function(_, name)
  refuse(key_text(name), "x is changed", "a local name: local a = ...")
end)

ROOT.__call = exported(function()
  refuse("x", "x is called like a function", "one of its fields, such as x.score")
end)

-- Makes f traceable: returns x, and the function that ends the session. new: builder, heads, layers, causal (1 or 0),
-- score (the node of the score so far, or nil for the logit), parameters by the name in the spec. The session's `used`
-- and `symbols` say what was read.
function M.begin(new)
  new.used, new.symbols = {}, {}
  session = new
  local x = setmetatable({}, ROOT)
  roots[x] = new
  return x
end

function M.finish()
  session = nil
end

-- What a value that a function returned is: "node", "number", "truth", "table", "x", "nothing" or "other"; its node.
function M.classify(value)
  local node = nodes[value]
  if node then
    return node.type == "truth" and "truth" or "node", node
  end
  return tables[value] and "table" or roots[value] and "x" or value == nil and "nothing"
    or type(value) == "number" and "number" or type(value) == "boolean" and "truth" or "other"
end

return M
