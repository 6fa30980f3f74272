-- The formulas of scores as graphs of nodes with types and ranges. A builder simplifies each node when it makes the
-- node.
--
-- Input: operations, one at a time. Output: nodes; or nil and a problem { what, expected, hint } if an operation is
-- invalid. The items [1], [2], ... of a node are its arguments. Equal nodes are one node. Only the field `word` of a
-- node ever changes. Ids ascend in the order in which nodes are made, so orders by ids are the same in all runs. Fields
-- of a node; only some kinds of nodes have the fields from linear_form on:
--
--   op          the name of the operation, such as "add", or of the kind of a leaf, such as "symbol" or "number"
--   id          a number that no other node of the builder has
--   type        "real", "integer" (a real that is whole) or "truth"
--   low, high   the least and the greatest value that are possible; this range may be too wide, never too narrow
--   has_known_range   whether the range follows from positions and constants alone, not from learned numbers or logits
--   linear_form   { q, k, c }, if the value is q * query_index + k * key_index + c; nil for other nodes. The two
--               indices count from 0 in the sequence
--   value       the value of a number or truth
--   name        the name of a symbol, or of a node `head_sum`
--   shown       the text of a symbol in a spec, if the text is not x.<name>
--   parameter   the parameter that a parameter node, a value of a token or a lookup reads
--   edges       the edges of a bucket
--   index       of a sum: the node of its index
--   depth       of an index: the number of sums around the index's own sum
--   count       of an index: the number of its values
--   list_index  of a sum over keys (lower.lua, row_sums): its index in the list of these sums, from 0
--   table       the table of a load (lower.lua)
--   letters     of a node `head_sum`, a sum over heads (nests.lua): letters for the indices on which the sum depends
--               (lower.lua)
--   word        the name of the node's variable in generated code; nil: emit.lua chooses it. nests_cpu.lua sets it
--   is_separate   whether generated code computes the node in a statement of its own
--
-- A builder with the field `is_trusted` has a formula that has been checked. It no longer checks whether arguments can
-- leave a function's domain. With too many nodes, it raises { problem = true, what, expected }.
--
-- ir.new(context) makes a builder. context: heads, layers, cross (whether queries attend to another sequence),
-- positions ("index", "difference", "drawn" or "clamped", see docs/encodings.md), first_position and max_position:
-- sampled positions are first_position .. max_position - 1.

local functions = require("expression.functions")
local lists = require("base.lists")
local simplify = require("expression.simplify")
local text = require("expression.text")
local walk = require("expression.walk")

local M = {}

M.MAX_LENGTH = 300000 -- tokens of the longest sequence: three times the longest task length
M.MAX_NODES = 4096 -- nodes of a builder that is not trusted; traced.lua checks a lower limit after each operation
M.MAX_DERIVED_NODES = 16384 -- nodes of a trusted builder: a formula and its gradients
M.MAX_WRITTEN_SIZE = 16384 -- operations and leaves of a formula's text
M.EXACT_LIMIT = 2 ^ 23 -- float32 represents every integer below this

local HUGE = math.huge

local Builder = {}
Builder.__index = Builder

function M.new(context)
  return setmetatable({ context = context, nodes = {}, count = 0 }, Builder)
end

local refuse = functions.refuse

local COMMUTES = { add = true, mul = true, all = true, any = true, equal = true }
for name, row in next, functions.rows do
  COMMUTES[name] = row.is_commutative
end

-- The unique node with this operation, these arguments and this payload. payload: a string that determines `fields`.
function Builder:make(op, arguments, payload, fields)
  local key = { op, payload or "" }
  for i, argument in ipairs(arguments) do
    key[i + 2] = argument.id
  end
  if COMMUTES[op] and key[3] > key[4] then
    key[3], key[4] = key[4], key[3]
  end
  key = table.concat(key, " ")
  if self.nodes[key] then
    return self.nodes[key]
  elseif self.is_trusted and self.count >= M.MAX_DERIVED_NODES then
    error({ problem = true, expected = "a smaller formula",
      what = ("the formula and its gradients have more than %d operations"):format(M.MAX_DERIVED_NODES) })
  elseif not self.is_trusted and self.count >= M.MAX_NODES then
    return refuse(("the formula has more than %d operations"):format(M.MAX_NODES), "a smaller one")
  end
  self.count = self.count + 1
  self.nodes[key] = lists.update(table.move(arguments, 1, #arguments, 1, { op = op, id = self.count }), fields)
  return self.nodes[key]
end

-- A node whose value is a number.
--   keeps_integers   true: integer arguments give an integer result; otherwise the result is real
--   low, high        the range, in which a NaN stands for an unknown bound
function Builder:make_result(op, arguments, keeps_integers, low, high, linear_form)
  local has_known_range, are_integers = true, true
  for _, argument in ipairs(arguments) do
    has_known_range = has_known_range and argument.has_known_range or false
    are_integers = are_integers and argument.type == "integer"
  end
  return self:make(op, arguments, nil, { type = keeps_integers and are_integers and "integer" or "real",
    low = low == low and low or -HUGE, high = high == high and high or HUGE, has_known_range = has_known_range,
    linear_form = linear_form })
end

function Builder:number(value)
  value = value == 0 and 0.0 or value + 0.0 -- avoids a negative zero
  local is_integer = value == math.floor(value) and math.abs(value) < M.EXACT_LIMIT
  return self:make("number", {}, ("%a"):format(value), { value = value, type = is_integer and "integer" or "real",
    low = value, high = value, has_known_range = true, linear_form = is_integer and { 0, 0, value } or nil })
end

function Builder:truth(value)
  return self:make("truth", {}, tostring(value), { value = value, type = "truth", has_known_range = true })
end

-- A symbol that is an integer. linear_form, shown: fields of the node.
local function make_integer(b, name, low, high, linear_form, shown)
  return b:make("symbol", {}, name,
    { name = name, type = "integer", low = low, high = high, has_known_range = true, linear_form = linear_form,
      shown = shown })
end

local LAST = M.MAX_LENGTH - 1

local symbols = {
  score = function(b) return b:leaf("symbol", "score", { name = "score" }) end,
  query_index = function(b) return make_integer(b, "query_index", 0, LAST, { 1, 0, 0 }) end,
  key_index = function(b) return make_integer(b, "key_index", 0, LAST, { 0, 1, 0 }) end,
  total = function(b) return make_integer(b, "total", 0, 2 * LAST, { 1, 1, 0 }, "(x.query_index + x.key_index)") end,
  head = function(b) return make_integer(b, "head", 0, b.context.heads - 1) end,
  layer = function(b) return make_integer(b, "layer", 0, b.context.layers - 1) end,
  query_length = function(b) return make_integer(b, "length", 1, M.MAX_LENGTH, nil, "x.query_length") end,
}

-- Makes the function for the symbol `query` or `key`: the token's position.
local function make_position(name)
  return function(b)
    local context = b.context
    if context.positions == "index" then
      return symbols[name .. "_index"](b)
    elseif context.positions == "difference" then
      return make_integer(b, name, context.first_position, context.max_position - 1)
    end
    return refuse(("x.%s is not defined if distances are sampled"):format(name), "x.distance, x." .. name .. "_index",
      'encoding.positions.reading = "difference" samples positions, and x.distance is their difference')
  end
end

symbols.query, symbols.key = make_position("query"), make_position("key")

-- Simplification makes the symbols offset (key_index - query_index) and total (key_index + query_index). A spec cannot
-- name them, except offset as x.distance if positions are the indices.
function symbols.offset(b)
  return make_integer(b, "offset", -LAST, LAST, { -1, 1, 0 },
    b.context.positions == "index" and "x.distance" or "(x.key_index - x.query_index)")
end

function symbols.distance(b)
  local context = b.context
  if context.positions == "index" then
    return symbols.offset(b)
  elseif context.positions == "difference" then
    return b:apply("sub", symbols.key(b), symbols.query(b))
  end
  return make_integer(b, "distance", context.positions == "clamped" and 1 or 1 - context.max_position,
    context.max_position - 1)
end

-- The length of the keys' sequence: the length of the queries' sequence, unless queries attend to another sequence.
function symbols.key_length(b)
  return b.context.cross and make_integer(b, "key_length", 1, M.MAX_LENGTH, nil, "x.key_length")
    or symbols.query_length(b)
end

function Builder:symbol(name)
  return symbols[name](self)
end

-- The value of a parameter without shape.
function Builder:parameter(p)
  return self:leaf("parameter", p.name, { parameter = p })
end

-- The value of a token, for a parameter that has a value for each token and head. The token is the pair's query or key;
-- inside a running sum, each token of the sum. p.from:
--   "query", "key"   the value is the product of the token's query or key with a learned vector
--   nil              a map computes the value from the block's input
function Builder:value(p)
  if p.from and self.context.cross then
    return refuse(("x.%s is used in cross-attention"):format(p.name), "self-attention, which computes values of tokens")
  end
  return self:leaf("value", p.name, { parameter = p })
end

-- The term of sum_between may read only values of tokens, constants and x.head. If `node` is another node, returns its
-- description for a message; else nil. symbol_names: nil, or node -> the symbol's name in the spec.
function M.describe_unsummable(node, symbol_names)
  local p, name = node.parameter, symbol_names and symbol_names[node]
  if name and name ~= "head" then
    return "x." .. name
  elseif node.op == "symbol" and node.name ~= "head" then
    return text.format_briefly(node)
  elseif node.op == "sum_between" then
    return "another sum_between"
  elseif node.op == "sum_to_query" then
    return "sum_to_query"
  end
  return p and p.learned and node.op ~= "value" and "x." .. p.name or nil
end

-- The difference of two running sums of a term over the tokens: the sum up to the query (included), minus the sum up to
-- the key (included). symbol_names: see describe_unsummable.
function Builder:sum_between(term, symbol_names)
  local has_value, unsummable_text = false, nil
  walk(term, function(node)
    has_value = has_value or node.op == "value"
    unsummable_text = unsummable_text or M.describe_unsummable(node, symbol_names)
  end)
  if unsummable_text then
    return refuse(("sum_between reads %s"):format(unsummable_text), "values of tokens, constants and x.head",
      "write factors outside: x.slope * sum_between(x.gate)")
  elseif not has_value or term.type == "truth" then
    return refuse("sum_between reads no value of a token", 'a parameter with per = "token"')
  elseif self.context.cross then
    return refuse("sum_between is used in cross-attention, whose queries and keys are tokens of two sequences",
      "self-attention, in which the tokens between a key and a query have values")
  end
  return self:make("sum_between", { term }, nil, { type = "real", low = -HUGE, high = HUGE })
end

local function has_sum_to_query(root)
  local is_found = false
  walk(root, function(node) is_found = is_found or node.op == "sum_to_query" end)
  return is_found
end

-- For a pair of query i and key j: the sum of a term over the pairs of query i with the keys from j to i. score: the
-- node of x.score in the spec, or nil.
function Builder:sum_to_query(term, score)
  if has_sum_to_query(term) then
    local is_in_score = score and has_sum_to_query(score)
    return refuse("sum_to_query reads another sum_to_query", "a term without sum_to_query",
      is_in_score and "x.score is the result of the previous score, which reads sum_to_query" or nil)
  elseif term.type == "truth" then
    return refuse("a sum of truth values", "numbers", "select(truth, 1, 0), to count true values")
  elseif self.context.cross then
    return refuse("sum_to_query is used in cross-attention, whose queries have no key of their own",
      "self-attention, in which the query is one of the keys")
  end
  -- The sum has between 1 and MAX_LENGTH terms, since the query's own key always has a term.
  local low = term.low < 0 and term.low * M.MAX_LENGTH or term.low
  local high = term.high > 0 and term.high * M.MAX_LENGTH or term.high
  return self:make("sum_to_query", { term }, nil, { type = "real", low = low, high = high })
end

-- One value of a parameter with shape. p.outside: "clip", or the value for indices outside the shape; nil: an index
-- that can be outside is a problem.
function Builder:lookup(p, index)
  local first, last = p.first or 0, (p.first or 0) + p.size - 1
  if index.type ~= "integer" then
    return refuse(("an index of x.%s is not an integer"):format(p.name), "an integer expression", "floor makes one")
  end
  local index_inside = index
  if index.low < first or index.high > last then
    if p.outside == nil then
      return refuse(("the index of x.%s can be %s, but the table has the indices %d to %d"):format(p.name,
        index.low < first and text.format_number(index.low) or text.format_number(index.high), first, last),
        "an index that stays inside the table", 'outside = "clip" or a number sets the value beyond the table')
    end
    index_inside = self:apply("min", self:apply("max", index, first), last)
  end
  local node = self:make("lookup", { self:apply("sub", index_inside, first) }, p.name,
    { parameter = p, type = "real", low = -HUGE, high = HUGE })
  if index_inside == index or type(p.outside) ~= "number" then
    return node
  end
  return self:apply("select", self:apply("equal", index, index_inside), node, p.outside)
end

-- The sum of body(m) over m = 0 .. count - 1; count is at least 1.
function Builder:sum(count, body)
  local depth = self.depth or 0
  self.depth = depth + 1
  local index = self:make("index", {}, depth .. " " .. count, { depth = depth, count = count, type = "integer",
    low = 0, high = count - 1, has_known_range = true })
  local term, problem = body(index)
  self.depth = depth
  if not term then
    return nil, problem
  elseif M.needs_pair(term) then
    return self:write_out(count, body)
  elseif term.type == "truth" then
    return refuse("a sum of truth values", "numbers", "select(truth, 1, 0), to count true values")
  end
  return self:sum_over(index, term)
end

-- A sum as a chain of additions, with a term for each value of the index. A term that needs the loop over pairs gets no
-- loop of its own.
function Builder:write_out(count, body)
  local total = self:number(0)
  for m = 0, count - 1 do
    local term, problem = body(self:number(m))
    if not term then
      return nil, problem
    end
    total = self:apply("add", total, term)
  end
  return total
end

-- The sum of a term over an index that exists already.
function Builder:sum_over(index, term)
  if not M.depends_on(term, index) then
    return self:apply("mul", term, index.count)
  end
  return self:make("sum", { term }, index.depth .. " " .. index.count, { index = index, type = term.type,
    low = index.count * term.low, high = index.count * term.high, has_known_range = term.has_known_range })
end

-- Whether a formula contains a leaf. A sum inside the formula hides its own index.
function M.depends_on(root, leaf)
  local is_found = false
  walk(root, function(node)
    is_found = is_found or node == leaf
    return is_found or node.op == "sum" and node.index == leaf
  end)
  return is_found
end

-- Whether only the loop over pairs can compute a formula.
function M.needs_pair(root)
  local is_found = false
  walk(root, function(node)
    is_found = is_found or node.name == "score" or node.op == "sum_between" or node.op == "sum_to_query"
      or node.op == "value" and node.parameter.from
    return is_found
  end)
  return is_found
end

-- A leaf: the logit, a parameter, a value from a table, or a gradient. key distinguishes leaves of one kind.
function Builder:leaf(kind, key, fields)
  return self:make(kind, {}, key, lists.merge({ type = "real", low = -HUGE, high = HUGE }, fields))
end

local TRUTH = { all = true, any = true, negate = true }

-- The problem with the types of arguments, or nil.
local function find_type_problem(op, arguments)
  for i, argument in ipairs(arguments) do
    local wants_truth = TRUTH[op] or op == "select" and i == 1
    if wants_truth and argument.type ~= "truth" then
      return { what = op .. " of a number", expected = "a truth value: less, less_equal, equal, all, any, negate" }
    elseif not wants_truth and argument.type == "truth" then
      return { what = op .. " of a truth value", expected = "a number",
        hint = "select(truth, a, b) turns a truth value into a number" }
    end
  end
end

-- Applies an operation to nodes or Lua numbers; the second argument of bucket is its edges.
function Builder:apply(op, ...)
  local arguments = { ... }
  for i = 1, select("#", ...) do
    arguments[i] = type(arguments[i]) == "number" and self:number(arguments[i]) or arguments[i]
  end
  local problem = op ~= "bucket" and find_type_problem(op, arguments)
  if problem then
    return nil, problem
  end
  return simplify[op](self, table.unpack(arguments))
end

M.format, M.count_written = text.format, text.count_written

return M
