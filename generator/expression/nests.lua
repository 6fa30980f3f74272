-- Makes the loop nests of a score, as C statements: nests that fill its tables, compute the score of a pair, and
-- propagate gradients to parameters.
--
-- Input: a class of tables (lower.lua), the tables of this class, and `build`, the context of loop nests:
--   builder          the builder of the formula (ir.lua)
--   state            the state of the formula (lower.lua)
--   target           the module nests_cpu or nests_cuda
--   prefix           text: the prefix of the attention's names
--   heads            text: the number of heads
--   cross            whether keys belong to another sequence
--   stack            the name of the array in C whose elements each contain the parameters of a layer
--   row_sums         the sums over keys of the formula (lower.lua)
--   real(number)     returns the literal of a number
--   name_edges(list)   returns the name of a constant array of edges
-- Output: a nest, or nil if there is nothing to compute. A nest has a list of statements for each level (emit.lua), and
-- these fields:
--   class            the class of the tables
--   sums             gradients of parameters and of uniform tables, which are summed over the entries. Fields of a sum:
--     name             the name of the variable
--     member           text of the gradient to which generated code adds the variable at the end
--     extent           text of the number of elements
--   head_sums        gradients summed over the heads (describe_head_sum)
--   part_sums, scatters   lists that nests_cuda.lua makes and describes
--   has_scope        whether the statements need their own scope in C
--   words            the set of the words in the texts of the statements

local canonical = require("base.canonical")
local derive = require("expression.derive")
local emit = require("expression.emit")
local ir = require("expression.ir")
local leaves = require("expression.leaves")
local lists = require("base.lists")
local lower = require("expression.lower")
local walk = require("expression.walk")

local M = {}

-- Whether a node differs from entry to entry of a class.
local function varies(build, class, node)
  return lower.varies(build.state, node, build.target.make_environment(build, class).varying)
end

-- The set of the words in the texts of statements. It contains all names that the statements use.
function M.collect_words(...)
  local words = {}
  for _, list in ipairs({ ... }) do
    for _, statement in ipairs(list) do
      for _, text in next, statement do
        lists.update(words, lists.to_set(lists.find_all(type(text) == "string" and text or "", "[%a_][%w_]*")))
      end
    end
  end
  return words
end

-- The loop nest of a class. contents: { effects (emit.lua), sums, head_sums, part_sums, scatters }; all fields except
-- effects are optional.
local function make_nest(build, class, contents)
  local nest = emit.make_statements(build.state, build.target.make_environment(build, class), contents.effects)
  nest.class = class
  nest.sums, nest.head_sums = contents.sums or {}, contents.head_sums or {}
  nest.part_sums, nest.scatters = contents.part_sums or {}, contents.scatters or {}
  nest.words = M.collect_words(nest.outer, nest.key, nest.lane, nest.head, nest.after, nest.sums, nest.part_sums,
    nest.scatters)
  nest.has_scope = #nest.outer + #nest.sums > 0
  return nest
end

-- The loop nest that computes the entries of tables of a class.
function M.make_filling(build, class, tables)
  return make_nest(build, class, { effects = lists.map(tables, function(t)
    return lists.merge(build.target.make_filling(build, t, class), { node = t.value, per_head = t.per_head })
  end) })
end

-- The effects that add to the gradient of a learned parameter. Arguments of this function and of add_effects:
--   contents   the contents of the nest so far, as in M.make_gradients
--   class      the class of the tables of the nest
--   entry      an entry of the list that derive.lua returns
local function make_parameter_effects(build, contents, class, entry)
  local leaf, p = entry.leaf, entry.leaf.parameter
  local effect = { kind = "add_element", node = entry.gradient, per_head = leaves.has_head(p), loops = entry.loops }
  local count, member = p.size or 1, leaves.write_member(build, "g", p)
  if effect.per_head then
    effect.base = p.size and ("h * %d"):format(count) or "h"
  end
  if leaf.op == "lookup" then
    effect.index_node = leaf[1]
  end
  if class == "uniform" then
    effect.target = member
  elseif effect.index_node and varies(build, class, effect.index_node) then
    return build.target.scatter(build, contents, class, effect, p)
  else -- all entries of the table add to the same elements
    effect.target = p.name .. "_sums"
    contents.sums_by_name[p.name] = { name = effect.target, member = member, count = count,
      per_head = effect.per_head }
  end
  return { effect }
end

local function is_learned(leaf)
  return leaf.parameter and leaf.parameter.learned or leaf.op == "table" and leaf.table.learned
end

-- Finds the nodes below `root` that do not depend on the head, but are arguments of nodes that do. Their gradients are
-- summed over the heads, and then propagated once. Two results: the nodes as a list in the order of ids, and as a set.
local function find_shared_parts(build, class, root)
  local shared_parts, is_listed = {}, {}
  walk(root, function(node)
    if not lower.find_dependencies(build.state, node).h then
      return true
    end
    for _, argument in ipairs(node) do
      local dependencies = lower.find_dependencies(build.state, argument)
      local is_shared = not dependencies.h and dependencies.p and varies(build, class, argument)
        and argument.type ~= "truth" and lower.find_index(dependencies) ~= false
        and #argument > 0 and argument.op ~= "lookup"
      if is_shared and not is_listed[argument] then
        is_listed[argument] = true
        shared_parts[#shared_parts + 1] = argument
      end
    end
  end)
  table.sort(shared_parts, function(x, y) return x.id < y.id end)
  return shared_parts, is_listed
end

-- Describes the gradient of a shared part, summed over the heads:
--   index   if the part depends on the index of a sum in the formula: the node of the index; else false
--   name    the name of the variable or array in generated code
--   count   the number of elements: one for each value of the index
--   leaf    the node that reads the gradient
-- list_index: the index of the result in contents.head_sums.
local function describe_head_sum(build, class, shared_part, list_index)
  local index = lower.find_index(lower.find_dependencies(build.state, shared_part))
  local letters = "a" -- the dependencies of the leaf; a: its value exists after the loop over heads
  for letter in next, build.target.make_environment(build, class).varying do
    letters = letters .. letter
  end
  local name = list_index == 1 and "from_heads" or "from_heads_" .. list_index
  local leaf = build.builder:make("head_sum", { index }, name .. " " .. shared_part.id,
    { name = name, type = "real", low = -math.huge, high = math.huge, letters = letters })
  return { index = index or false, name = name, count = index and index.count or 1, leaf = leaf }
end

-- Adds to contents.effects the effects that add a gradient to the gradient of a leaf.
local function add_effects(build, contents, class, entry)
  local t = entry.leaf.table
  if not t then
    lists.append(contents.effects, make_parameter_effects(build, contents, class, entry))
    return
  end
  local effect = { node = entry.gradient, per_head = t.per_head, loops = entry.loops }
  build.target.complete_effect(build, contents, t, class, effect)
  table.insert(contents.effects, effect)
end

-- Adds to contents.effects the effects that propagate a table's gradient to leaves. Adds to contents.head_sums the
-- gradients that are summed over the heads.
local function add_table_effects(build, contents, class, t)
  local shared_parts, stops = {}, {}
  if t.per_head and class ~= "uniform" then
    shared_parts, stops = find_shared_parts(build, class, t.value)
  end
  local head_sums = {} -- shared part -> the description of its head sum
  for _, shared_part in ipairs(shared_parts) do
    head_sums[shared_part] = describe_head_sum(build, class, shared_part, #contents.head_sums + 1)
    table.insert(contents.head_sums, head_sums[shared_part])
  end
  local gradient = build.builder:leaf("table", "d_" .. t.key, { table = {
    name = "d_" .. t.name, class = t.class, per_head = t.per_head, per_layer = t.per_layer, gradient_of = t } })
  for _, entry in ipairs(derive.derive(build.builder, { [t.value] = gradient }, is_learned, stops)) do
    local head_sum = head_sums[entry.leaf]
    if head_sum then
      table.insert(contents.effects, { kind = head_sum.index and "add_element" or "add", target = head_sum.name,
        index_node = head_sum.index or nil, per_head = true, node = entry.gradient, loops = entry.loops })
    else
      add_effects(build, contents, class, entry)
    end
  end
  for _, shared_part in ipairs(shared_parts) do
    local index, leaf = head_sums[shared_part].index, head_sums[shared_part].leaf
    local root = index and build.builder:sum_over(index, shared_part) or shared_part
    for _, entry in ipairs(derive.derive(build.builder, { [root] = leaf }, is_learned)) do
      add_effects(build, contents, class, entry)
    end
  end
end

-- C text of the number of elements of a sum. heads: C text of the number of heads.
local function write_extent(sum, heads)
  if not sum.per_head then
    return tostring(sum.count)
  end
  return sum.count == 1 and heads or ("%s * %d"):format(heads, sum.count)
end

-- The sums to which effects add, in the order of their names.
local function find_used_sums(sums_by_name, effects, heads)
  local targets = lists.to_set(lists.map(effects, function(effect) return effect.target end))
  return lists.map(canonical.sort_keys(sums_by_name), function(name)
    local sum = sums_by_name[name]
    sum.extent = write_extent(sum, heads)
    return targets[sum.name] and sum
  end)
end

-- The loop nest that propagates the gradients of tables of a class; nil if no table is learned. Fields of its contents:
-- those of make_nest, and sums_by_name: name of a parameter or table -> { name, member, count, per_head }. count: the
-- number of elements, for each head if per_head is true.
function M.make_gradients(build, class, tables)
  local contents = { effects = {}, sums_by_name = {}, head_sums = {}, part_sums = {}, scatters = {} }
  for _, t in ipairs(tables) do
    if t.learned then
      add_table_effects(build, contents, class, t)
    end
  end
  if #contents.effects == 0 then
    return nil
  end
  build.target.finish(build, contents)
  contents.sums = find_used_sums(contents.sums_by_name, contents.effects, build.heads)
  return make_nest(build, class, contents)
end

-- C text of the index of head h's row (or column) for an item of a list. list_index: the item's index, from 0.
local function write_row(build, list_index)
  return list_index == 0 and "h" or (list_index > 1 and list_index .. " * " or "") .. build.heads .. " + h"
end

local function write_row_count(build, item_count)
  return (item_count ~= 1 and item_count .. " * " or "") .. build.heads
end

-- Makes the effects of an entry of token_numbers. list_index: the entry's index, from 1. Two results:
--   the effect that stores the numbers
--   a list of effects that add to the gradients of the values from which the numbers are computed
-- Sets head_row in the entry's tables: C text of the index of head h's row, or nil for "h".
local function make_token_effects(build, environment, entry, list_index)
  local head_row = list_index > 1 and ("(%s)"):format(write_row(build, list_index - 1)) or nil
  for _, class in ipairs({ "query", "key" }) do
    if entry[class] then
      entry[class].head_row = head_row
    end
  end
  local by_token = lists.merge(entry.key or entry.query, { class = "key" })
  local gradient = build.builder:leaf("table", "d_" .. by_token.key, { table = {
    name = "d_" .. entry.name, class = "key", per_head = true, per_layer = false, gradient_of = by_token } })
  local derived_entries = derive.derive(build.builder, { [entry.value] = gradient }, function(leaf)
    return leaf.op == "value"
  end)
  return lists.merge(build.target.make_filling(build, by_token, "token"), { node = entry.value }),
    lists.map(derived_entries, function(derived)
      return { kind = "add", target = "d" .. environment.value(derived.leaf.parameter), node = derived.gradient,
        loops = derived.loops }
    end)
end

-- The parameters whose values of tokens the entries of token_numbers read, in the order of their names.
local function list_value_parameters(token_numbers)
  local parameters = {}
  for _, entry in ipairs(token_numbers) do
    walk(entry.value, function(node)
      if node.op == "value" then
        parameters[node.parameter.name] = node.parameter
      end
    end)
  end
  return lists.map(canonical.sort_keys(parameters), function(name) return parameters[name] end)
end

-- Returns an item of `values` (M.make_token_statements). projected_values, products: the lists of the items before it.
local function describe_value(build, environment, p, projected_values, products)
  local value = { name = environment.value(p), parameter = p, unit = p.unit or false,
    vector = (p.unit and "unit_" or "p->" .. build.prefix .. "score_") .. p.name }
  value.column = not p.from and write_row(build, #projected_values) or nil
  value.start = p.from == "key" and " + WIDTH" or ""
  value.vector_offset = ({ [0] = "", " + WIDTH" })[#products] or (" + %d * WIDTH"):format(#products)
  return value
end

-- The statements for the numbers that each token has (lower.lua, token_numbers): running sums, and terms. Each sum or
-- term has a row of numbers for each head. Output, or nil without such numbers:
--   fill       statements that compute the terms from the values of consecutive tokens
--   backward   statements that compute the gradients of values from the gradients of terms
--   token_numbers   the argument `token_numbers`
--   row_count  text: the number of rows. The rows of running sums come first
--   sum_row_count   text: the number of rows of running sums; false if there are none
--   projected_values   the values of tokens that a linear map of the block's input computes
--   products   the values of tokens that are products of the token's query or key with a learned vector
--   backward_projected_values, backward_products   the items of these two lists that `backward` reads
--   values     the items of projected_values and products, in the order of the parameters' names. Fields of
--              a value:
--     name, parameter   the name of its variable, and its parameter
--     column     text, for projected values: the column of head h in the output of the map
--     start      text, for products: the offset from the address of a token's query: "" for the query, " + WIDTH" for
--                the key
--     vector     text, for products: the learned vector
--     unit       whether the vector is divided by its norm
--     vector_offset   text, for products: the offset of the vector in the array of all vectors
function M.make_token_statements(build, token_numbers)
  if not token_numbers[1] then
    return nil
  end
  local environment, fill, backward = build.target.make_environment(build, "token"), {}, {}
  for i, entry in ipairs(token_numbers) do
    local filling, gradient_effects = make_token_effects(build, environment, entry, i)
    fill[i] = filling
    lists.append(backward, gradient_effects)
  end
  local function emit_lane(effects)
    return emit.make_statements(build.state, environment, effects).lane
  end
  local out = { fill = emit_lane(fill), backward = emit_lane(backward), token_numbers = token_numbers,
    row_count = write_row_count(build, #token_numbers), projected_values = {}, products = {} }
  local sum_count = lists.count(token_numbers, function(entry) return entry.is_sum end)
  out.sum_row_count = sum_count > 0 and write_row_count(build, sum_count) or false
  out.values = lists.map(list_value_parameters(token_numbers), function(p)
    local value = describe_value(build, environment, p, out.projected_values, out.products)
    table.insert(p.from and out.products or out.projected_values, value)
    return value
  end)
  local words = M.collect_words(out.backward)
  local function is_read(value)
    return words[value.name]
  end
  out.backward_projected_values = lists.filter(out.projected_values, is_read)
  out.backward_products = lists.filter(out.products, is_read)
  return out
end

-- The statements that compute the score of a pair. class: "score" (default), or "row" for consecutive keys.
function M.make_pair(build, score, class)
  local environment = build.target.make_environment(build, class or "score")
  return emit.make_statements(build.state, environment, { { kind = "result", node = score } }).lane
end

local ROW_SYMBOLS = { score = true, head = true, layer = true, length = true, key_length = true, query_index = true,
  key_index = true, offset = true, total = true }

-- The statements that compute the scores of one query with consecutive keys, and their result; nil if the score reads a
-- table of pairs, a sampled position or a sum over keys.
function M.make_row(build, score)
  local is_possible = true
  walk(score, function(node)
    is_possible = is_possible and not (node.op == "symbol" and not ROW_SYMBOLS[node.name]
      or node.op == "table" and node.table.class == "pair" or node.op == "row_sum")
  end)
  return is_possible and M.make_pair(build, score, "row") or nil
end

-- The leaf for a gradient that the loop over pairs has already computed. name: its name in C.
function M.make_gradient_leaf(build, name)
  return build.builder:leaf("symbol", name, { name = name })
end

-- Whether a leaf takes a gradient: it is the logit, or a load from a learned table.
local function takes_gradient(leaf)
  return leaf.name == "score" or leaf.op == "table" and leaf.table.learned
end

-- The sums over keys (lower.lua, row_sums) whose terms need a gradient, as a list. Fields of an item:
--   sum           the sum
--   own           the gradient of the pair's own sum, a node
--   accumulated   the leaf that reads the total of `own` over the farther keys. On a GPU, this total includes `own` of
--                 the pair (nests_cuda.lua, make_sum_gradients); on a CPU, it does not
-- A key's term is part of the sums of this key and of all farther keys. So the gradient of the term is the total of
-- `own` over these keys. Generated code visits keys from the farthest to the nearest.
--
-- dscore: the gradient of the score.
function M.derive_sums(build, score, dscore)
  return lists.map(build.row_sums, function(sum)
    local is_needed = false
    walk(sum.term, function(node) is_needed = is_needed or takes_gradient(node) end)
    local entry = is_needed and derive.derive(build.builder, { [score] = dscore }, function(leaf)
      return leaf == sum.leaf
    end)[1]
    local name = "d" .. sum.name
    return entry and { sum = sum, own = entry.gradient, accumulated = build.builder:leaf("row_sum", name,
      { name = name, list_index = sum.leaf.list_index, is_gradient = true }) } or nil
  end)
end

-- The gradients of a score, and of the terms of sums over keys: node -> its gradient.
--   terms    a list of { sum, gradient }: a sum (lower.lua, row_sums), and the node of the gradient of its term
--   factor   a node that multiplies the gradients of the terms, or nil
local function join_gradients(build, score, dscore, terms, factor)
  local b, gradients = build.builder, { [score] = dscore }
  for _, term in ipairs(terms) do
    local node, gradient = term.sum.term, factor and b:apply("mul", term.gradient, factor) or term.gradient
    gradients[node] = gradients[node] and b:apply("add", gradients[node], gradient) or gradient
  end
  return gradients
end

-- The gradients of the tables that the score reads, as a list of entries of derive.lua. Arguments: see join_gradients.
function M.derive_tables(build, score, dscore, terms, factor)
  return derive.derive(build.builder, join_gradients(build, score, dscore, terms, factor), function(leaf)
    return leaf.op == "table" and leaf.table.learned
  end)
end

-- The node of the logit's gradient. Arguments: see join_gradients.
function M.derive_logit(build, score, dscore, terms)
  local b = build.builder
  local logit = b:number(0)
  for _, entry in ipairs(derive.derive(b, join_gradients(build, score, dscore, terms), function(leaf)
    return leaf.op == "symbol" and leaf.name == "score"
  end)) do
    logit = b:apply("add", logit, entry.gradient)
  end
  return logit
end

function M.needs_logit(build, effects)
  local score = build.builder:symbol("score")
  return lists.any(effects, function(effect) return ir.depends_on(effect.node, score) end)
end

return M
