-- The intermediate form of score expressions: nodes, their types and ranges, and what can be simplified at once.
--
-- Input: operations, one at a time. Output: nodes; a problem { what, expected, hint } instead where an operation makes
-- no sense. A node is { op, id, type, low, high, sure, [1], [2], ... } and is never changed once made; equal nodes are
-- one. Invariants: ids ascend in the order of making, so every order that is taken from them is the same in each run.
--
--   type        "real", "integer" (a real that is whole) or "truth"
--   low, high   its range, as far as it is known; ranges may be too wide, never too narrow
--   sure        the range follows from positions and constants alone, not from learned numbers or logits
--   row         where an integer is a q + b k + c of the raw indices: { q, k, c }; so differences are recognised
--
-- A builder whose `trusted` is set asks no more whether arguments can leave a function's domain. Then all comes from
-- operations that made sense, so it raises the one problem that is left, { problem = true, what, expected }: too many.
--
-- Nodes are made by a builder: ir.new(context), context = { heads, layers, positions, first_position, max_position };
-- positions is "index", "difference", "drawn" or "clamped" (docs/encodings.md), drawn ones are first_position ..
-- max_position - 1. Longest sequences: M.LONGEST tokens.

local functions = require("expression.functions")
local simplify = require("expression.simplify")
local text = require("expression.text")

local M = {}

M.LONGEST = 300000 -- tokens: three times the longest task length
M.NODES = 4096     -- of one formula as a spec has it
M.DERIVED = 16384  -- of its generated code, gradients included
M.WRITTEN = 16384  -- operations of its text
M.EXACT = 2 ^ 23   -- integers below this are exact in float32, also in quotients

local HUGE = math.huge

local Builder = {}
Builder.__index = Builder

function M.new(context)
  return setmetatable({ context = context, known = {}, count = 0 }, Builder)
end

local problem = functions.problem

local COMMUTES = { add = true, mul = true, all = true, any = true, equal = true }
for name, row in next, functions.rows do
  COMMUTES[name] = row.commutes
end

-- The one node with this operation, these arguments and this payload (a string that names what else it is).
function Builder:make(op, arguments, payload, fields)
  local key = { op, payload or "" }
  for i, argument in ipairs(arguments) do
    key[i + 2] = argument.id
  end
  if COMMUTES[op] and key[3] > key[4] then
    key[3], key[4] = key[4], key[3]
  end
  key = table.concat(key, " ")
  if self.known[key] then
    return self.known[key]
  elseif self.trusted and self.count >= M.DERIVED then
    error({ problem = true, what = ("the formula and its gradients come to more than %d operations"):format(M.DERIVED),
      expected = "a smaller formula" })
  elseif not self.trusted and self.count >= M.NODES then
    return problem(("the formula has more than %d operations"):format(M.NODES), "a smaller one")
  end
  self.count = self.count + 1
  local node = table.move(arguments, 1, #arguments, 1, { op = op, id = self.count })
  for name, value in next, fields do
    node[name] = value
  end
  self.known[key] = node
  return node
end

-- A new node of numbers; an integer only of integers where `whole`.
function Builder:result(op, arguments, whole, low, high, row)
  local sure, integers = true, true
  for _, argument in ipairs(arguments) do
    sure = sure and argument.sure or false
    integers = integers and argument.type == "integer"
  end
  return self:make(op, arguments, nil, { type = whole and integers and "integer" or "real",
    low = low == low and low or -HUGE, high = high == high and high or HUGE, sure = sure, row = row })
end

function Builder:number(value)
  value = value + 0.0
  if value == 0 then
    value = 0.0 -- no negative zero
  end
  local whole = value == math.floor(value) and math.abs(value) < M.EXACT
  return self:make("number", {}, ("%a"):format(value), { value = value, type = whole and "integer" or "real",
    low = value, high = value, sure = true, row = whole and { 0, 0, value } or nil })
end

function Builder:truth(value)
  return self:make("truth", {}, tostring(value), { value = value, type = "truth", sure = true })
end

-- A raw position or a combination of both: q times the query's index plus k times the key's plus c.
function Builder:index_symbol(name, row, low, high, shown)
  return self:make("symbol", {}, name,
    { name = name, type = "integer", low = low, high = high, sure = true, row = row, shown = shown })
end

function Builder:drawn_symbol(name, low, high, shown)
  return self:make("symbol", {}, name,
    { name = name, type = "integer", low = low, high = high, sure = true, shown = shown })
end

local symbols = {}

function symbols.score(b)
  return b:make("symbol", {}, "score", { name = "score", type = "real", low = -HUGE, high = HUGE })
end

function symbols.query_index(b)
  return b:index_symbol("query_index", { 1, 0, 0 }, 0, M.LONGEST - 1)
end

function symbols.key_index(b)
  return b:index_symbol("key_index", { 0, 1, 0 }, 0, M.LONGEST - 1)
end

-- key - query and key + query of the raw indices: no names of a spec, but what its formulas come down to. Only where
-- positions are the indices is the first the distance.
function symbols.offset(b)
  return b:index_symbol("offset", { -1, 1, 0 }, 1 - M.LONGEST, M.LONGEST - 1,
    b.context.positions == "index" and "x.distance" or "(x.key_index - x.query_index)")
end

function symbols.total(b)
  return b:index_symbol("total", { 1, 1, 0 }, 0, 2 * M.LONGEST - 2, "(x.query_index + x.key_index)")
end

local function place(b, name)
  local positions = b.context.positions
  if positions == "index" then
    return symbols[name .. "_index"](b)
  elseif positions == "difference" then
    return b:drawn_symbol(name, b.context.first_position, b.context.max_position - 1)
  end
  return problem(("x.%s is not defined where distances are drawn"):format(name), "x.distance, x." .. name .. "_index",
    'encoding.positions.reading = "difference" draws positions, and x.distance is their difference')
end

function symbols.query(b)
  return place(b, "query")
end

function symbols.key(b)
  return place(b, "key")
end

function symbols.distance(b)
  local context = b.context
  if context.positions == "index" then
    return symbols.offset(b)
  elseif context.positions == "difference" then
    return b:apply("sub", symbols.key(b), symbols.query(b))
  end
  local low = context.positions == "clamped" and 1 or 1 - context.max_position
  return b:drawn_symbol("distance", low, context.max_position - 1)
end

function symbols.head(b)
  return b:drawn_symbol("head", 0, b.context.heads - 1)
end

function symbols.layer(b)
  return b:drawn_symbol("layer", 0, b.context.layers - 1)
end

function symbols.heads(b)
  return b:number(b.context.heads)
end

function symbols.layers(b)
  return b:number(b.context.layers)
end

function symbols.query_length(b)
  return b:drawn_symbol("length", 1, M.LONGEST, "x.query_length")
end

-- One sequence attends to itself, or looks at another.
function symbols.key_length(b)
  if not b.context.cross then
    return symbols.query_length(b)
  end
  return b:drawn_symbol("key_length", 1, M.LONGEST, "x.key_length")
end

function Builder:symbol(name)
  return symbols[name](self)
end

-- The value of a parameter without shape.
function Builder:parameter(p)
  return self:make("parameter", {}, p.name, { parameter = p, type = "real", low = -HUGE, high = HUGE })
end

local function clip(b, index, first, last)
  return b:apply("min", b:apply("max", index, first), last)
end

-- One value of a parameter with shape, `outside` applied.
function Builder:lookup(p, index)
  local first, last = p.first or 0, (p.first or 0) + p.size - 1
  if index.type ~= "integer" then
    return problem(("an index of x.%s is not an integer"):format(p.name), "an integer expression", "floor makes one")
  end
  local inside = index
  if index.low < first or index.high > last then
    if p.outside == nil then
      return problem(("the index of x.%s can be %s, and its values are %d to %d"):format(p.name,
        index.low < first and text.number(index.low) or text.number(index.high), first, last),
        "an index that stays inside", 'outside = "clip" or a number says what is read beyond')
    end
    inside = clip(self, index, first, last)
  end
  local node = self:make("lookup", { self:apply("sub", inside, first) }, p.name,
    { parameter = p, type = "real", low = -HUGE, high = HUGE })
  if inside == index or type(p.outside) ~= "number" then
    return node
  end
  local known = self:apply("equal", index, inside)
  return self:apply("select", known, node, p.outside)
end

-- Sum over m = 0 .. count - 1 of body(m), count from 1.
function Builder:sum(count, body)
  local depth = self.depth or 0
  self.depth = depth + 1
  local index = self:make("index", {}, depth .. " " .. count, { depth = depth, count = count, type = "integer",
    low = 0, high = count - 1, sure = true })
  local term, message = body(index)
  self.depth = depth
  if not term then
    return nil, message
  elseif M.depends(term, self:symbol("score")) then
    return self:written_out(count, body)
  elseif term.type == "truth" then
    return problem("a sum of truth values", "numbers", "select(truth, 1, 0) counts")
  end
  return self:sum_over(index, term)
end

-- A sum whose terms need the logit stands in the pair loop, term by term.
function Builder:written_out(count, body)
  local total = self:number(0)
  for m = 0, count - 1 do
    local term, message = body(self:number(m))
    if not term then
      return nil, message
    end
    total = self:apply("add", total, term)
  end
  return total
end

-- The sum of a term over an index that is already made.
function Builder:sum_over(index, term)
  if not M.depends(term, index) then
    return self:apply("mul", term, index.count)
  end
  return self:make("sum", { term }, index.depth .. " " .. index.count, { index = index, type = term.type,
    low = index.count * term.low, high = index.count * term.high, sure = term.sure })
end

-- Whether a node needs a given leaf.
function M.depends(node, leaf)
  local seen = {}
  local function visit(n)
    if n == leaf then
      return true
    elseif seen[n] then
      return false
    end
    seen[n] = true
    if n.op == "sum" and n.index == leaf then
      return false
    end
    for _, argument in ipairs(n) do
      if visit(argument) then
        return true
      end
    end
    return false
  end
  return visit(node)
end

-- A leaf of a later stage: a value that is loaded, or a gradient that comes in. kind names it, key tells it apart.
function Builder:leaf(kind, key, fields)
  local all = { type = "real", low = -HUGE, high = HUGE }
  for name, value in next, fields do
    all[name] = value
  end
  return self:make(kind, {}, key, all)
end

local TRUTH = { all = true, any = true, negate = true }

local function check_types(op, arguments)
  for i, argument in ipairs(arguments) do
    local wants_truth = TRUTH[op] or op == "select" and i == 1
    if wants_truth and argument.type ~= "truth" then
      return problem(("%s of a number"):format(op), "a truth value: less, less_equal, equal, all, any, negate")
    elseif not wants_truth and argument.type == "truth" then
      return problem(("%s of a truth value"):format(op), "a number", "select(truth, a, b) makes numbers of it")
    end
  end
  return true
end

-- An operation on nodes or Lua numbers.
function Builder:apply(op, ...)
  local arguments = table.pack(...)
  for i = 1, arguments.n do
    if type(arguments[i]) == "number" then
      arguments[i] = self:number(arguments[i])
    end
  end
  if op == "bucket" then
    return simplify.bucket(self, arguments[1], arguments[2])
  end
  arguments.n = nil
  local fits, message = check_types(op, arguments)
  if not fits then
    return nil, message
  end
  return simplify[op](self, table.unpack(arguments))
end

M.text, M.written = text.formula, text.written

return M
