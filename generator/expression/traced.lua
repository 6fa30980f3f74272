-- Traces a score function of a spec: runs it once with an object x in place of numbers, so that the operators and
-- functions that it applies become nodes of a formula.
--
-- Output: the functions that a spec may call, and M.begin, which returns x. Functions and operators return a number if
-- all arguments are numbers, so that a spec can compute its constants; for other arguments they return an object that
-- stands for a node of a builder (ir.lua). Every other use of an object raises a mistake of the spec.

local canonical = require("base.canonical")
local diagnostics = require("base.diagnostics")
local functions = require("expression.functions")
local lists = require("base.lists")
local similar_names = require("base.similar_names")
local objects = require("expression.objects")
local wording = require("base.wording")

local M = {}

local show = diagnostics.show
local nodes, tables, roots, wrap, refuse = objects.nodes, objects.tables, objects.roots, objects.wrap, objects.refuse
local export, import, is_finite = objects.export, objects.import, objects.is_finite
local read_number, read_truth = objects.read_number, objects.read_truth

local TRACED, TABLE, ROOT = objects.TRACED, objects.TABLE, objects.ROOT

local session -- the state of the function that is being traced (M.begin); nil while no function is traced

M.SYMBOLS = { "score", "query", "key", "distance", "query_index", "key_index", "head", "heads",
  "head_width", "layer", "layers", "query_length", "key_length", "causal" }

local MAX_TERMS = 1024 -- terms of a sum
local MAX_NODES = 2048 -- nodes of a formula after an operation; ir.MAX_NODES is the limit within an operation

-- Refuses a wrong number of arguments. expected: the right number; false: 2 or more.
local function check_count(word, count, expected)
  if count ~= expected and (expected or count < 2) then
    refuse(word, ("%s has %s"):format(word, wording.count(count, "argument")),
      expected and wording.count(expected, "argument") or "2 or more arguments")
  end
end

-- Wraps a node of the builder, or raises the builder's problem.
local function wrap_result(word, node, problem)
  if not node then
    refuse(word, problem.what, problem.expected, problem.hint)
  elseif session.builder.count > MAX_NODES then
    refuse(word, ("the formula has more than %d operations"):format(MAX_NODES), "a smaller one",
      "write repeated terms as sum(n, function(m) ... end): the term counts once, unless it reads x.score, values of "
        .. "tokens or sum_to_query")
  elseif node.op == "number" and not is_finite(node.value) then
    refuse(word, ("%s gives no finite number here"):format(word), "arguments that give a finite number")
  end
  return wrap(node)
end

-- Wraps the builder's node for an operation. word: the text of the spec that messages name.
local function build(word, op, ...)
  return wrap_result(word, session.builder:apply(op, ...))
end

-- Applies an operation of two arguments to a list of two or more, from the left.
local function build_chain(word, op, arguments)
  local chain = arguments[1]
  for i = 2, #arguments do
    chain = build(word, op, nodes[chain] or chain, arguments[i])
  end
  return chain
end

local function compute_plain(word, op, arguments)
  local value, row = functions.plain[op](table.unpack(arguments)), functions.rows[op]
  if not is_finite(value) then
    refuse(word, ("%s(%s) is not a finite number"):format(word:find("%a") and word or op,
      table.concat(lists.map(arguments, diagnostics.show), ", ")), row and row.expected
      or "arguments that give a finite number")
  end
  return value
end

-- Returns the result of an operator, a function or a comparison. min and max have two or more arguments.
local function apply(word, op, ...)
  local arguments, has_node, row = { ... }, false, functions.rows[op]
  for i = 1, select("#", ...) do
    arguments[i] = read_number(word, arguments[i])
    has_node = has_node or type(arguments[i]) ~= "number"
  end
  if not has_node then
    return compute_plain(word, op, arguments)
  elseif not row or row.arguments then
    return build(word, op, table.unpack(arguments))
  end
  return build_chain(word, op, arguments)
end

local function compute(name, ...)
  return apply(name, name, ...)
end

-- The result of `all` or `any`. An argument that is a boolean either decides the result, or makes no difference and is
-- left out.
local function join_truths(name, ...)
  local unknown_values, is_decided, decisive_value = {}, false, name == "any"
  for i = 1, select("#", ...) do
    local value = read_truth(name, (select(i, ...)))
    is_decided = is_decided or value == decisive_value
    unknown_values[#unknown_values + 1] = type(value) ~= "boolean" and value or nil
  end
  if is_decided then
    return decisive_value
  elseif #unknown_values == 0 then
    return not decisive_value
  end
  return #unknown_values == 1 and wrap(unknown_values[1]) or build_chain(name, name, unknown_values)
end

local function negate(name, condition)
  local value = read_truth(name, condition)
  if type(value) == "boolean" then
    return not value
  end
  return build(name, name, value)
end

local function choose(name, condition, a, b)
  condition = read_truth(name, condition)
  read_number(name, a)
  read_number(name, b)
  if type(condition) == "boolean" then
    return condition and a or b
  end
  return build(name, name, condition, nodes[a] or a, nodes[b] or b)
end

local function lookup(name, object, index)
  local p = tables[object]
  if not p then
    refuse(name, ("lookup reads a table, and its first argument is %s"):format(nodes[object] and "a single number"
      or object == nil and "nothing (nil)" or roots[object] and "x itself" or show(object)),
      "a parameter with shape or index, as in lookup(x.table, index)")
  end
  index = read_number(name, index)
  return wrap_result(name,
    session.builder:lookup(p, type(index) == "number" and session.builder:number(index) or index))
end

local function sum_between(name, value)
  value = read_number(name, value)
  return wrap_result(name, session.builder:sum_between(type(value) == "number" and session.builder:number(value)
    or value, session.symbol_names))
end

local function sum_to_query(name, value)
  value = read_number(name, value)
  return wrap_result(name, session.builder:sum_to_query(type(value) == "number" and session.builder:number(value)
    or value, session.score))
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
      refuse("bucket", ("edge %d (%s) is not larger than edge %d (%s)"):format(i, show(edge), i - 1,
        show(copy[i - 1])), "ascending numbers")
    end
    copy[i] = edge
  end
  return copy
end

local function find_bucket(name, value, edges)
  value, edges = read_number(name, value), check_edges(edges)
  if type(value) ~= "number" then
    return build(name, name, value, edges)
  end
  local count = 0
  for i, edge in ipairs(edges) do
    count = edge <= value and i or count
  end
  return count
end

local function sum(name, count, f)
  local term_count = type(count) == "number" and math.tointeger(count)
  if not term_count or term_count < 1 or term_count > MAX_TERMS then
    refuse(name, ("%s is not a number of terms"):format(nodes[count] and "a traced value" or show(count)),
      ("a constant integer from 1 to %d, as in sum(8, function(m) return ... end), "
        .. "which adds the terms for m = 0 .. 7"):format(MAX_TERMS))
  elseif type(f) ~= "function" then
    refuse(name, "sum has no function", "sum(8, function(m) return ... end)")
  end
  local compute_term = import(f)
  if not session then
    local total = 0
    for m = 0, term_count - 1 do
      total = total + read_number(name, compute_term(m))
    end
    return total
  end
  return wrap_result(name, session.builder:sum(term_count, function(m)
    local term = read_number(name, compute_term(wrap(m)))
    return type(term) == "number" and session.builder:number(term) or term
  end))
end

-- The functions that a spec may call: { number of arguments (false: 2 or more), implementation }. The first argument of
-- an implementation is the function's name.
local FUNCTIONS = { less = { 2, compute }, less_equal = { 2, compute }, equal = { 2, compute },
  all = { false, join_truths }, any = { false, join_truths }, negate = { 1, negate }, select = { 3, choose },
  lookup = { 2, lookup }, bucket = { 2, find_bucket }, sum = { 2, sum },
  sum_between = { 1, sum_between }, sum_to_query = { 1, sum_to_query } }

for name, row in next, functions.rows do
  FUNCTIONS[name] = { row.arguments, compute }
end

M.functions, M.names = {}, canonical.sort_keys(FUNCTIONS)

for name, row in next, FUNCTIONS do
  M.functions[name] = export(function(...)
    check_count(name, select("#", ...), row[1])
    return row[2](name, ...)
  end)
end

local OPERATORS = { __add = { "+", "add" }, __sub = { "-", "sub" }, __mul = { "*", "mul" }, __div = { "/", "div" },
  __pow = { "^", "pow" }, __mod = { "%", "mod" } }

local COMPARED_MESSAGE = "a traced value is compared"
local NEGATE_HINT = "arithmetic; negate(a) is the opposite of a truth value"

-- Metamethod of a refused operator -> { operator, expected text, message }. The default message is "`operator` of a
-- traced value".
local FORBIDDEN = {
  __lt = { "<", "less(a, b)", COMPARED_MESSAGE },
  __le = { "<=", "less_equal(a, b)", COMPARED_MESSAGE },
  __eq = { "==", "equal(a, b)", COMPARED_MESSAGE },
  __concat = { "..", "arithmetic", "`..` joins texts, and a score is a number" },
  __len = { "#", "x.query_length or x.key_length for the length of a sequence" },
  __band = { "&", "arithmetic; all(a, b) joins truth values" },
  __bor = { "|", "arithmetic; any(a, b) joins truth values" },
  __bxor = { "~", NEGATE_HINT },
  __bnot = { "~", NEGATE_HINT },
  __shl = { "<<", "a * 2" },
  __shr = { ">>", "floor(a / 2)" },
}

local EVENTS = {
  __metatable = "traced",
  __idiv = export(function(a, b) return apply("//", "floor", apply("//", "div", a, b)) end),
  __unm = export(function(a) return apply("-", "neg", a) end),
}

for event, entry in next, OPERATORS do
  EVENTS[event] = export(function(a, b) return apply(entry[1], entry[2], a, b) end)
end

for event, entry in next, FORBIDDEN do
  local word, expected = entry[1], entry[2]
  entry[3] = entry[3] or ("`%s` of a traced value"):format(word)
  EVENTS[event] = export(function()
    refuse(word, entry[3], expected)
  end)
end

for _, metatable in next, { TRACED, TABLE, ROOT } do
  lists.update(metatable, EVENTS)
end

-- The words of formulas, for tracers in other languages:
--   functions   names of functions
--   symbols     names of fields of x
--   operators   metamethod in Lua -> the sign of its operator
--   refused     metamethod in Lua -> its message: { what, expected }
function M.list_words()
  local operators, refusals = { __idiv = "//", __unm = "-" }, {}
  for event, entry in next, OPERATORS do
    operators[event] = entry[1]
  end
  for event, entry in next, FORBIDDEN do
    refusals[event] = { what = entry[3], expected = entry[2] }
  end
  return { functions = M.names, symbols = M.SYMBOLS, operators = operators, refused = refusals }
end

local function get_key_text(key)
  return type(key) == "string" and key or nil
end

-- Makes the metamethod that refuses to set a field.
local function make_refusal(message)
  return export(function(_, key)
    refuse(get_key_text(key), message, "a local name: local a = ...")
  end)
end

TRACED.__newindex = make_refusal("a field of a traced number is set")
ROOT.__newindex = make_refusal("x is changed")

TRACED.__index = export(function(_, key)
  refuse(get_key_text(key), "a traced number has no fields", "only its value", type(key) ~= "string"
    and "lookup(x.table, index) reads a table" or nil)
end)

TRACED.__call = export(function()
  refuse(nil, "a traced number is called like a function", "the name of a function: " .. table.concat(M.names, ", "))
end)

TABLE.__index, TABLE.__call = export(objects.refuse_table), export(objects.refuse_table)

TABLE.__newindex = export(function(object)
  refuse(tables[object].local_name, "a table parameter is set", "its values in encoding.parameters")
end)

local function read_parameter(p)
  session.used[p.local_name] = true
  if p.size then
    local object = setmetatable({}, TABLE)
    tables[object] = p
    return object
  elseif p.is_inlined then
    return wrap(session.builder:number(p.values[1]))
  elseif p.per == "token" then
    return wrap_result(p.local_name, session.builder:value(p))
  end
  return wrap(session.builder:parameter(p))
end

local function read_symbol(name)
  if name == "score" and session.score then
    session.symbol_names[session.score] = name
    return wrap(session.score)
  elseif name == "heads" or name == "head_width" or name == "layers" or name == "causal" then
    return session[name] -- a plain number: a `for` can count to it, and it can index a list
  end
  local node, problem = session.builder:symbol(name)
  if not node then
    refuse(name, problem.what, problem.expected, problem.hint)
  end
  session.symbol_names[node] = session.symbol_names[node] or name
  return wrap(node)
end

ROOT.__index = export(function(object, name)
  if roots[object] ~= session then
    refuse(get_key_text(name), "x is used outside the function that it was given to",
      "each score function uses its own x")
  elseif session.parameters[name] then
    return read_parameter(session.parameters[name])
  elseif lists.has(M.SYMBOLS, name) then
    return read_symbol(name)
  end
  local names = lists.join(M.SYMBOLS, canonical.sort_keys(session.parameters))
  refuse(get_key_text(name), ("unknown symbol x.%s"):format(type(name) == "string" and name or "[...]"),
    table.concat(names, ", "), similar_names.make_hint(name, names, "x.%s"))
end)

ROOT.__call = export(function()
  refuse("x", "x is called like a function", "one of its fields, such as x.score")
end)

-- Begins a session, which M.finish ends; returns x, the argument of the function to trace. Fields of new_session:
--   builder, heads, head_width, layers
--   causal       1 or 0
--   score        the node of x.score: the result of the previous score function; nil if x.score is the logit
--   parameters   name in the spec -> the parameter
-- Fields that this function adds:
--   used         the set of the names of parameters that the function reads
--   symbol_names   node -> the name of the first symbol that returned this node
function M.begin(new_session)
  new_session.used, new_session.symbol_names = {}, {}
  session = new_session
  local x = setmetatable({}, ROOT)
  roots[x] = new_session
  return x
end

function M.finish()
  session = nil
end

M.classify = objects.classify

return M
