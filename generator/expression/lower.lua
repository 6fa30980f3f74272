-- Splits the formula of a score into tables, which a step fills once, and a pair formula, which the loop over pairs of
-- queries and keys computes.
--
-- Parts of the formula that do not need the logit are moved out of the loop over pairs, into a table of the lowest
-- class that suffices; only cheap combinations of two classes are left in the loop. An entry of a table may depend on
-- head and layer, and on the number that the class of the table names:
--
--   uniform    no further number
--   query      the index of the query
--   key        the index of the key
--   distance   the difference of the indices: key - query, as x.distance in formulas; generated code indexes these
--              tables by query - key
--   sum        the sum of the indices, key + query
--   pair       both indices, and not only their difference or only their sum
--
-- Input: a builder (ir.lua), the root of a formula, and { draws_per_layer }: whether each layer samples positions.
-- Output:
--   tables   the tables, in the order in which they are filled: { name, class, per_head, per_layer, learned, value,
--            key }. per_head, per_layer: whether entries depend on the head, and on the layer; learned: whether entries
--            depend on learned parameters, so that they have gradients; value: the node of an entry, over symbols,
--            parameters and loads from tables of lower classes; key: a text that is unique among all tables of the
--            builder
--   token_numbers   numbers that each sequence has for each token: { name, value, is_sum, query, key }. The first
--            entries are running sums (is_sum): the number of a token is the sum of `value` from the first token up to
--            this token. In the later entries, the number is `value` itself. query, key: the tables from which a pair
--            loads the number of its query or of its key, or nil
--   row_sums   sums over the keys of a query, from the pair's key up to the query's own key: { name, term, leaf }.
--            term: the node of a pair's term, which has the same kinds of leaves as the pair formula; leaf: the node
--            that stands for the sum in the pair formula
--   score    the node of the pair formula. Its leaves are the logit, leaves of row_sums, and loads from tables
--   state    the state that M.find_dependencies and M.varies read
--
-- A formula is a graph with shared nodes, so the functions here remember their result for each node.

local functions = require("expression.functions")
local ir = require("expression.ir")
local lists = require("base.lists")
local text = require("expression.text")
local walk = require("expression.walk")

local M = {}

-- A sum or product takes over the operands of inner sums or products. With this number of operands, it no longer takes
-- over those of inner sums or products that are used more than once.
local MAX_OPERANDS = 64
local IS_EXPENSIVE = { div = true, lookup = true, sum = true, bucket = true } -- a set of operations
for name, row in next, functions.rows do
  IS_EXPENSIVE[name] = not row.is_cheap
end
-- The loop over pairs combines loads of two classes by at most this number of operations; longer combinations get a
-- table of pairs.
local MAX_PAIR_OPERATIONS = 4
-- Parts of a lower class with at most this number of operations are computed again for each entry of a table. Longer
-- parts get a table of their own.
local MAX_REPEATED_OPERATIONS = 2

-- The classes, ordered: a class is lower than another class if its rank is smaller.
local RANK = { uniform = 0, query = 1, key = 1, distance = 1, sum = 1, pair = 2 }

-- A letter for each dependency of leaves:
--   h, l   head, layer
--   q, k   query, key
--   d, t   difference (key - query), total (key + query)
--   p      learned parameters
--   s      score: the logit, and all other numbers that only the loop over pairs can compute, such as sums over keys
--   a      after: a sum over heads, whose value exists after the loop over heads (nests.lua, describe_head_sum)
-- The letters of a leaf, by name of a symbol, by the field `per` of a parameter, and by class of a table:
local SYMBOL_LETTERS = { score = "s", head = "h", layer = "l", query_index = "q", query = "q", key_index = "k",
  key = "k", offset = "d", distance = "d", total = "t", length = "", key_length = "",
  dscore = "s", weighted = "s", inverse = "s", is_seen = "s" } -- variables of the backward pass (nests_cpu.lua)
local PARAMETER_LETTERS = { model = "", layer = "l", head = "h", layer_head = "hl", token = "hk" }
local TABLE_LETTERS = { uniform = "", query = "q", key = "k", distance = "d", sum = "t", pair = "qk" }
local SAMPLED_SYMBOLS = { query = true, key = true, distance = true }

-- The letters of a node's own dependencies, without those of its arguments, as one text.
local function list_own_letters(state, node)
  if node.op == "symbol" then
    return SYMBOL_LETTERS[node.name] .. (state.draws_per_layer and SAMPLED_SYMBOLS[node.name] and "l" or "")
  elseif node.parameter then
    local p = node.parameter
    return PARAMETER_LETTERS[p.per] .. (p.learned and "p" or "") .. (p.from and "s" or "")
  elseif node.op == "head_sum" then
    return node.letters
  elseif node.op == "sum_between" or node.op == "sum_to_query" or node.op == "row_sum" then
    return "s"
  elseif node.op == "table" then
    local t = node.table
    return TABLE_LETTERS[t.class] .. (t.per_head and "h" or "") .. (t.per_layer and "l" or "")
      .. (t.learned and "p" or "")
  end
  return ""
end

-- The dependencies of a node: a set of letters, and of the indices of sums that the node needs.
function M.find_dependencies(state, node)
  local earlier_result = state.dependencies[node]
  if earlier_result then
    return earlier_result
  end
  local set = lists.to_set(lists.find_all(list_own_letters(state, node), "."))
  if node.op == "index" then
    set[node] = true
  end
  for _, argument in ipairs(node) do
    lists.update(set, M.find_dependencies(state, argument))
  end
  if node.op == "sum" then
    set[node.index] = nil
  end
  state.dependencies[node] = set
  return set
end

-- The class of a table whose entries have these dependencies.
local function find_class(dependencies)
  local table_class
  for letter, class in next, { q = "query", k = "key", d = "distance", t = "sum" } do
    if dependencies[letter] then
      table_class = table_class and "pair" or class
    end
  end
  return table_class or "uniform"
end

-- The index of a sum that a node needs; nil if it needs none, false if it needs more than one.
function M.find_index(dependencies)
  local index
  for key in next, dependencies do
    if type(key) == "table" then
      if index then
        return false
      end
      index = key
    end
  end
  return index
end

local function has_index(dependencies)
  return M.find_index(dependencies) ~= nil
end

-- Whether a node differs from lane to lane. varying: the set of quantities that differ, each as its letter.
function M.varies(state, node, varying)
  for letter in next, M.find_dependencies(state, node) do
    if varying[letter] then
      return true
    end
  end
  return false
end

-- Returns two results: the number of operations in a node, and whether one of these operations is expensive. Each part
-- counts once.
--   class        parts of lower classes do not count; nil: all parts count
--   is_counted   the set of parts that have been counted
local function count_operations(state, node, class, is_counted)
  if is_counted[node] or #node == 0 and node.op ~= "lookup" then
    return 0, false
  elseif class and RANK[find_class(M.find_dependencies(state, node))] < RANK[class] then
    return 0, false
  end
  is_counted[node] = true
  local count, is_expensive = 1, IS_EXPENSIVE[node.op] or false
  for _, argument in ipairs(node) do
    local inner_count, has_inner_expensive = count_operations(state, argument, class, is_counted)
    count, is_expensive = count + inner_count, is_expensive or has_inner_expensive
  end
  return count, is_expensive
end

-- A copy of a node with other arguments; the node itself if the arguments are the same.
local function rebuild(state, node, arguments)
  local is_same = true
  for i, argument in ipairs(node) do
    is_same = is_same and argument == arguments[i]
  end
  if is_same then
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

local replace_by_loads

-- See replace_by_loads.
local function compute_replaced(state, node, class)
  local dependencies = M.find_dependencies(state, node)
  local is_movable = node.type ~= "truth" and not has_index(dependencies) and next(dependencies)
  if is_movable and RANK[find_class(dependencies)] < RANK[class] then
    local count, is_expensive = count_operations(state, node, nil, {})
    local is_sampled = class == "pair" and node.op == "symbol" and SAMPLED_SYMBOLS[node.name]
    if is_expensive or count > MAX_REPEATED_OPERATIONS or is_sampled then
      return tabulate(state, node)
    end
  end
  return rebuild(state, node, lists.map(node, function(argument) return replace_by_loads(state, argument, class) end))
end

-- Returns a copy of `node` for the entries of a table of this class: loads from other tables replace expensive parts of
-- lower classes.
function replace_by_loads(state, node, class)
  local results = state.results_by_class[class]
  results[node] = results[node] or compute_replaced(state, node, class)
  return results[node]
end

local NAMES = { uniform = "by_head", query = "by_query", key = "by_key", distance = "by_distance", sum = "by_sum",
  pair = "by_pair" }

-- Returns the name at its first use, and the name with a number at further uses.
local function make_name(state, name)
  local count = (state.names[name] or 0) + 1
  state.names[name] = count
  return count > 1 and name .. "_" .. count or name
end

-- A load from the table of this node's values; the first call for a node adds the table.
function tabulate(state, node)
  if state.loads[node] then
    return state.loads[node]
  end
  local dependencies = M.find_dependencies(state, node)
  local class = find_class(dependencies)
  local value = replace_by_loads(state, node, class)
  local name = make_name(state, class == "uniform" and not dependencies.h and "scalar" or NAMES[class])
  local entry = { name = name, class = class, per_head = dependencies.h or false, per_layer = dependencies.l or false,
    learned = dependencies.p or false, value = value, key = name .. " " .. state.lowering_index }
  state.tables[#state.tables + 1] = entry
  state.loads[node] = state.builder:leaf("table", entry.key, { table = entry, low = node.low, high = node.high })
  return state.loads[node]
end

local NOT_INVERSE = false -- the argument is_inverse of collect_operands and combine

-- Adds the terms of a sum or the factors of a product to the list `operands`. Without MAX_OPERANDS, s = s * s, repeated
-- twenty times, would give a million factors. Fields of an operand:
--   node         the term or factor
--   is_inverse   whether the sum subtracts the term, or the product divides by the factor
local function collect_operands(state, node, kind, is_inverse, operands)
  local op, inverse_op = "add", "sub"
  if kind == "product" then
    op, inverse_op = "mul", "div"
  end
  if #operands >= MAX_OPERANDS and state.uses[node] > 1 then
    operands[#operands + 1] = { node = node, is_inverse = is_inverse }
  elseif node.op == op then
    collect_operands(state, node[1], kind, is_inverse, operands)
    collect_operands(state, node[2], kind, is_inverse, operands)
  elseif node.op == inverse_op and (kind == "sum" or not M.find_dependencies(state, node[2]).s) then
    collect_operands(state, node[1], kind, is_inverse, operands)
    operands[#operands + 1] = { node = node[2], is_inverse = not is_inverse }
  elseif node.op == "neg" then
    if kind == "sum" then
      collect_operands(state, node[1], kind, not is_inverse, operands)
    else
      operands[#operands + 1] = { node = state.builder:number(-1), is_inverse = NOT_INVERSE }
      collect_operands(state, node[1], kind, is_inverse, operands)
    end
  else
    operands[#operands + 1] = { node = node, is_inverse = is_inverse }
  end
  return operands
end

local lower

-- Returns the sum or product of `total` and a further operand. total: the sum or product of the operands before; nil if
-- there are none.
local function combine(state, kind, total, node, is_inverse)
  local b = state.builder
  if not total and not is_inverse then
    return node
  elseif not total then
    return kind == "sum" and b:apply("neg", node) or assert(b:apply("div", 1, node))
  elseif kind == "sum" then
    return assert(b:apply(is_inverse and "sub" or "add", total, node))
  end
  return assert(b:apply(is_inverse and "div" or "mul", total, node))
end

local CLASS_ORDER = { "distance", "query", "key", "sum", "pair", "uniform" }

-- Lowers a sum or product that contains the logit. Operands without the logit are first combined by class.
local function lower_operands(state, node, kind)
  local total
  local groups = {} -- class -> the sum or product of its operands
  for _, operand in ipairs(collect_operands(state, node, kind, NOT_INVERSE, {})) do
    local dependencies = M.find_dependencies(state, operand.node)
    if dependencies.s then
      total = combine(state, kind, total, lower(state, operand.node), operand.is_inverse)
    else
      local class = find_class(dependencies)
      groups[class] = combine(state, kind, groups[class], operand.node, operand.is_inverse)
    end
  end
  local joined_class = groups.distance and "distance" or groups.query and "query" or groups.key and "key"
    or groups.sum and "sum"
  if groups.uniform and joined_class then
    groups[joined_class] = combine(state, kind, groups[joined_class], groups.uniform, NOT_INVERSE)
    groups.uniform = nil
  end
  for _, class in ipairs(CLASS_ORDER) do
    if groups[class] then
      total = combine(state, kind, total, lower(state, groups[class]), NOT_INVERSE)
    end
  end
  return total
end

-- The node with lowered arguments. Arguments that need the index of a sum stay as they are.
local function lower_arguments(state, node)
  return rebuild(state, node, lists.map(node, function(argument)
    return has_index(M.find_dependencies(state, argument)) and argument or lower(state, argument)
  end))
end

-- Lowers a part without the logit to a number, a load, or a cheap combination of loads. There are no tables of truth
-- values, so only the arguments of a truth value are lowered.
local function lower_without_logit(state, node)
  if node.op == "number" or node.op == "truth" then
    return node
  elseif node.type == "truth" then
    return lower_arguments(state, node)
  elseif find_class(M.find_dependencies(state, node)) == "pair" then
    local count, is_expensive = count_operations(state, node, "pair", {})
    if not is_expensive and count <= MAX_PAIR_OPERATIONS then
      return lower_arguments(state, node)
    end
  end
  return tabulate(state, node)
end

-- Adds an entry to a list of numbers that each token has (token_numbers). The last arguments are "query", "key" or
-- both. For each of them, the function makes a table, and returns a load of the number of the pair's query or key. In
-- generated code, each sequence has one array for both tables. Attention fills the array before it computes scores.
-- Further fields of these tables:
--   is_of_tokens   true
--   stride         C text of the stride from head to head, for nests_cpu.lua; %s stands for the array's name
local function load_token_number(state, list, name, value, ...)
  local entry = { name = make_name(state, name), value = value }
  list[#list + 1] = entry
  return table.unpack(lists.map({ ... }, function(class)
    local key = ("%s %s %d"):format(entry.name, class, state.lowering_index)
    entry[class] = { name = entry.name, class = class, per_head = true, per_layer = false, learned = true,
      is_of_tokens = true, stride = "%s->stride", key = key }
    return state.builder:leaf("table", key, { table = entry[class] })
  end))
end

-- The difference of the running sums up to the query and up to the key. Generated code computes it before it adds other
-- numbers: the difference of two close sums has almost no rounding error.
local function lower_sum_between(state, node)
  local up_to_query, up_to_key = load_token_number(state, state.sums, "sums", node[1], "query", "key")
  return state.builder:make("sub", { up_to_query, up_to_key }, "apart",
    { type = "real", low = -math.huge, high = math.huge, is_separate = true })
end

-- The leaf of a sum over the keys of a query; the first call for a term adds the sum.
local function lower_sum_to_query(state, node)
  local entry = { name = make_name(state, "row_sum"), term = lower(state, node[1]) }
  entry.leaf = state.builder:leaf("row_sum", ("%s %d"):format(entry.name, state.lowering_index),
    { name = entry.name, list_index = #state.row_sums, low = node.low, high = node.high })
  table.insert(state.row_sums, entry)
  return entry.leaf
end

-- "query" or "key" if only this token of a pair determines a number; else nil.
local function find_token_class(node)
  local class, is_of_one_token = nil, node.type ~= "truth"
  walk(node, function(inner_node)
    local token_class = inner_node.op == "value" and inner_node.parameter.from
    is_of_one_token = is_of_one_token and not ir.describe_unsummable(inner_node)
      and not (token_class and class and token_class ~= class)
    class = class or token_class or nil
  end)
  return is_of_one_token and class or nil
end

-- See `lower`.
local function compute_lowered(state, node)
  local dependencies = M.find_dependencies(state, node)
  local class = dependencies.s and find_token_class(node)
  if not dependencies.s then
    return lower_without_logit(state, node)
  elseif node.op == "sum_between" then
    return lower_sum_between(state, node)
  elseif node.op == "sum_to_query" then
    return lower_sum_to_query(state, node)
  elseif class then
    return (load_token_number(state, state.terms, "of_" .. class, node, class))
  elseif #node == 0 then
    return node
  elseif node.op == "add" or node.op == "sub" or node.op == "neg" then
    return lower_operands(state, node, "sum")
  elseif node.op == "mul" or node.op == "div" and not M.find_dependencies(state, node[2]).s then
    return lower_operands(state, node, "product")
  end
  return lower_arguments(state, node)
end

-- The node that the loop over pairs computes for a node of the formula.
function lower(state, node)
  state.lowered[node] = state.lowered[node] or compute_lowered(state, node)
  return state.lowered[node]
end

function M.lower(builder, root, options)
  builder.is_trusted = true -- the formula has been checked as a whole
  -- Several attentions may share a builder. Keys of tables contain the index of the lowering, so that keys differ.
  builder.lowering_count = (builder.lowering_count or 0) + 1
  local state = { builder = builder, draws_per_layer = options.draws_per_layer, dependencies = {}, loads = {},
    tables = {}, sums = {}, terms = {}, row_sums = {}, lowering_index = builder.lowering_count, names = {},
    results_by_class = {}, lowered = {}, uses = setmetatable(text.count_uses({ root }),
      { __index = function() return 1 end }) } -- nodes that `combine` makes are used once
  for class in next, RANK do
    state.results_by_class[class] = {}
  end
  local score = lower(state, root)
  for _, sum in ipairs(state.sums) do
    sum.is_sum = true
  end
  return { tables = state.tables, token_numbers = lists.join(state.sums, state.terms), row_sums = state.row_sums,
    score = score, state = state }
end

return M
