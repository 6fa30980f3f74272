-- Splits a score expression into parts by their dependencies.
--
-- Input: a builder, the root of a formula, { draws_per_layer = whether positions are sampled anew for each layer }.
-- Output: { tables, score, state }: tables in the order in which they are made; the remaining formula for the pair
-- loop, over the logit and loads from the tables; and the state for M.find_needs and M.varies. A table is { name,
-- class, per_head, per_layer, learned, value, key }; value is a node over symbols, parameters and loads from tables of
-- lower classes; key is unique among all tables of the builder. Classes, by the dependencies of an entry in addition to
-- head and layer:
--
--   uniform    none                          query, key   one of the two tokens
--   distance   key - query                   sum          key + query          pair   both, in some other way
--
-- A formula is a graph: every walk caches its result for each part.
--
-- Everything that does not need the logit is hoisted out of the pair loop, into a table of the lowest class that
-- suffices; only cheap combinations of two classes stay in the pair loop.

local functions = require("expression.functions")
local lists = require("base.lists")
local text = require("expression.text")

local M = {}

local OPENED = 64 -- operands of a sum or product; with more, parts that are used more than once are not opened
local EXPENSIVE = { div = true, lookup = true, sum = true, bucket = true }
for name, row in next, functions.rows do
  EXPENSIVE[name] = not row.cheap
end
local CHEAP_OPERATIONS = 4 -- on a pair's two classes in the pair loop, at most; with more, a table of pairs is made

local RANK = { uniform = 0, query = 1, key = 1, distance = 1, sum = 1, pair = 2 }

-- Letters of a leaf's dependencies: s(core) h(ead) l(ayer) q(uery) k(ey) o(ffset) t(otal); a: the leaf is available
-- after the loop over heads.
local SYMBOLS = { score = "s", head = "h", layer = "l", query_index = "q", query = "q", key_index = "k", key = "k",
  offset = "o", distance = "o", total = "t", length = "", key_length = "", dscore = "s", weighted = "s" }
local PER = { model = "", layer = "l", head = "h", layer_head = "hl" }
local DRAWN = { query = true, key = true, distance = true }

local function get_leaf_needs(state, node)
  if node.op == "symbol" then
    return SYMBOLS[node.name] .. (state.draws_per_layer and DRAWN[node.name] and "l" or "")
  elseif node.parameter then
    return PER[node.parameter.per] .. (node.parameter.learned and "p" or "")
  elseif node.op == "gathered" then
    return node.letters
  elseif node.op == "table" then
    local t = node.table
    return ({ uniform = "", query = "q", key = "k", distance = "o", sum = "t", pair = "qk" })[t.class]
      .. (t.per_head and "h" or "") .. (t.per_layer and "l" or "") .. (t.learned and "p" or "")
  end
  return ""
end

-- Dependencies of a node, as a set of letters (p: a learned number), and the indices of sums that the node needs.
function M.find_needs(state, node)
  local known = state.needs[node]
  if known then
    return known
  end
  local set = lists.to_set(lists.find_all(get_leaf_needs(state, node), "."))
  if node.op == "index" then
    set[node] = true
  end
  for _, argument in ipairs(node) do
    lists.update(set, M.find_needs(state, argument))
  end
  if node.op == "sum" then
    set[node.index] = nil
  end
  state.needs[node] = set
  return set
end

-- The class of an entry with these needs.
local function find_class(needs)
  local found
  for letter, class in next, { q = "query", k = "key", o = "distance", t = "sum" } do
    if needs[letter] then
      found = found and "pair" or class
    end
  end
  return found or "uniform"
end

-- The index of a sum that a node needs; nil if it needs none, false if it needs more than one.
function M.find_index(needs)
  local found
  for key in next, needs do
    if type(key) == "table" then
      if found then
        return false
      end
      found = key
    end
  end
  return found
end

local function has_index(needs)
  return M.find_index(needs) ~= nil
end

-- Whether a node depends on one of the letters that differ from lane to lane: lanes, a set.
function M.varies(state, node, lanes)
  for letter in next, M.find_needs(state, node) do
    if lanes[letter] then
      return true
    end
  end
  return false
end

-- The number of operations of a node, each part once, without parts of classes below `class` (nil: with all parts); and
-- whether one is expensive. seen: a set of the parts that have been counted.
local function count_operations(state, node, class, seen)
  if seen[node] or #node == 0 and node.op ~= "lookup" then
    return 0, false
  elseif class and RANK[find_class(M.find_needs(state, node))] < RANK[class] then
    return 0, false
  end
  seen[node] = true
  local count, expensive = 1, EXPENSIVE[node.op] or false
  for _, argument in ipairs(node) do
    local inner, inner_expensive = count_operations(state, argument, class, seen)
    count, expensive = count + inner, expensive or inner_expensive
  end
  return count, expensive
end

local function rebuild(state, node, arguments)
  local same = true
  for i, argument in ipairs(node) do
    same = same and argument == arguments[i]
  end
  if same then
    return node
  elseif node.op == "sum" then
    return state.builder:sum_over(node.index, arguments[1])
  elseif node.op == "lookup" then
    return state.builder:make("lookup", arguments, node.parameter.name,
      { parameter = node.parameter, type = "real", low = node.low, high = node.high })
  elseif node.op == "bucket" then
    return state.builder:apply("bucket", arguments[1], node.edges)
  end
  return assert(state.builder:apply(node.op, table.unpack(arguments)))
end

local tabulate

local move_inside

local function move_inside_anew(state, node, class)
  local needs = M.find_needs(state, node)
  local own = find_class(needs)
  local hoistable = node.type ~= "truth" and not has_index(needs) and next(needs)
  if hoistable and RANK[own] < RANK[class] then
    local count, expensive = count_operations(state, node, nil, {})
    local drawn = class == "pair" and node.op == "symbol" and DRAWN[node.name]
    if expensive or count > 2 or drawn then
      return tabulate(state, node)
    end
  end
  return rebuild(state, node, lists.map(node, function(argument) return move_inside(state, argument, class) end))
end

-- A part of a table's value, in which inner parts of lower classes, if that is worthwhile, are loads from tables of
-- their own.
function move_inside(state, node, class)
  local known = state.inside[class]
  known[node] = known[node] or move_inside_anew(state, node, class)
  return known[node]
end

local NAMES = { uniform = "by_head", query = "by_query", key = "by_key", distance = "by_distance", sum = "by_sum",
  pair = "by_pair" }

-- A load from the table that holds this node's values.
function tabulate(state, node)
  if state.loads[node] then
    return state.loads[node]
  end
  local needs = M.find_needs(state, node)
  local class = find_class(needs)
  local value = move_inside(state, node, class)
  local name = class == "uniform" and not needs.h and "scalar" or NAMES[class]
  local count = (state.names[name] or 0) + 1
  state.names[name] = count
  name = count > 1 and name .. "_" .. count or name
  local entry = { name = name, class = class, per_head = needs.h or false, per_layer = needs.l or false,
    learned = needs.p or false, value = value, key = name .. " " .. state.number }
  state.tables[#state.tables + 1] = entry
  state.loads[node] = state.builder:leaf("table", entry.key, { table = entry, low = node.low, high = node.high })
  return state.loads[node]
end

-- Terms of a sum or factors of a product: { { node, inverse } ... }; inverse: subtracted, or divided by. Shared parts
-- are opened while the list is short: otherwise s = s * s, repeated twenty times, would give a million factors.
local function collect_operands(state, node, kind, inverse, out)
  local op, inverse_op = kind == "sum" and "add" or "mul", kind == "sum" and "sub" or "div"
  if #out >= OPENED and state.uses[node] > 1 then
    out[#out + 1] = { node, inverse }
  elseif node.op == op then
    collect_operands(state, node[1], kind, inverse, out)
    collect_operands(state, node[2], kind, inverse, out)
  elseif node.op == inverse_op and (kind == "sum" or not M.find_needs(state, node[2]).s) then
    collect_operands(state, node[1], kind, inverse, out)
    out[#out + 1] = { node[2], not inverse }
  elseif node.op == "neg" then
    if kind == "sum" then
      collect_operands(state, node[1], kind, not inverse, out)
    else
      out[#out + 1] = { state.builder:number(-1), false }
      collect_operands(state, node[1], kind, inverse, out)
    end
  else
    out[#out + 1] = { node, inverse }
  end
  return out
end

local lower

local function combine(state, kind, total, node, inverse)
  local b = state.builder
  if not total then
    return inverse and (kind == "sum" and b:apply("neg", node) or assert(b:apply("div", 1, node))) or node
  end
  local op = kind == "sum" and (inverse and "sub" or "add") or inverse and "div" or "mul"
  return assert(b:apply(op, total, node))
end

local ORDER = { "distance", "query", "key", "sum", "pair", "uniform" }

-- A sum or product that contains the logit: the operands without the logit are gathered by class.
local function gather(state, node, kind)
  local total
  local groups = {}
  for _, operand in ipairs(collect_operands(state, node, kind, false, {})) do
    local needs = M.find_needs(state, operand[1])
    if needs.s then
      total = combine(state, kind, total, lower(state, operand[1]), operand[2])
    else
      local class = find_class(needs)
      groups[class] = combine(state, kind, groups[class], operand[1], operand[2])
    end
  end
  local host = groups.distance and "distance" or groups.query and "query" or groups.key and "key"
    or groups.sum and "sum"
  if groups.uniform and host then
    groups[host] = combine(state, kind, groups[host], groups.uniform, false)
    groups.uniform = nil
  end
  for _, class in ipairs(ORDER) do
    if groups[class] then
      total = combine(state, kind, total, lower(state, groups[class]), false)
    end
  end
  return total
end

local function lower_arguments(state, node)
  return rebuild(state, node, lists.map(node, function(argument)
    return has_index(M.find_needs(state, argument)) and argument or lower(state, argument)
  end))
end

-- A part without the logit: a number, a load, or a cheap combination of loads. Tables hold no truth values.
local function lower_free(state, node)
  if node.op == "number" or node.op == "truth" then
    return node
  elseif node.type == "truth" then
    return lower_arguments(state, node)
  elseif find_class(M.find_needs(state, node)) == "pair" then
    local count, expensive = count_operations(state, node, "pair", {})
    if not expensive and count <= CHEAP_OPERATIONS then
      return lower_arguments(state, node)
    end
  end
  return tabulate(state, node)
end

local function lower_anew(state, node)
  local needs = M.find_needs(state, node)
  if not needs.s then
    return lower_free(state, node)
  elseif #node == 0 then
    return node
  elseif node.op == "add" or node.op == "sub" or node.op == "neg" then
    return gather(state, node, "sum")
  elseif node.op == "mul" or node.op == "div" and not M.find_needs(state, node[2]).s then
    return gather(state, node, "product")
  end
  return lower_arguments(state, node)
end

-- The node of the formula that the pair loop computes.
function lower(state, node)
  state.lowered[node] = state.lowered[node] or lower_anew(state, node)
  return state.lowered[node]
end

function M.lower(builder, root, options)
  builder.trusted = true -- the formula has been checked as a whole
  builder.lowered = (builder.lowered or 0) + 1 -- attentions may share a formula, but each has its own tables
  local state = { builder = builder, draws_per_layer = options.draws_per_layer, needs = {}, loads = {}, tables = {},
    number = builder.lowered, names = {}, inside = {}, lowered = {},
    uses = setmetatable(text.count_uses({ root }),
      { __index = function() return 1 end }) } -- nodes of `combine` have one use
  for class in next, RANK do
    state.inside[class] = {}
  end
  local score = lower(state, root)
  return { tables = state.tables, score = score, state = state }
end

return M
