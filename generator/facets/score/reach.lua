-- Finds learned numbers of a score that no gradient can reach.
--
-- Input of M.warn_unreached: the arguments of warn_unreached in the module of a facet (facets/modules.lua): view and
-- report. It warns about each unreached parameter and names its numbers and one of these reasons:
--   no pair of tokens reads the numbers;
--   the mask hides all pairs that read them;
--   only functions without a gradient, such as floor, read them;
--   they add the same number to the scores of all keys of a query, which softmax cancels.
-- Pairs of the first TOKENS tokens are tested; if sums over keys are read, pairs of the first TOKENS_OF_SUMS tokens.
-- If the index of a lookup depends on more than the token indices of query and key, all indices in its range count as
-- read.

local evaluate = require("expression.evaluate").evaluate
local lists = require("base.lists")

local M = {}

local TOKENS = 64
local TOKENS_OF_SUMS = 32 -- tokens tested if an index depends on sums over keys, which have many terms
local FARTHEST = 1024 -- the farthest distance tested, if an index depends on the distance alone

-- Operations whose result does not change smoothly with their arguments.
local STEPS = { bucket = true, floor = true, less = true, less_equal = true, equal = true, lookup = true }

-- Calls visit(node) once for the root and every node below it. only_reached: only for nodes that a gradient reaches.
local function visit_nodes(root, only_reached, visit)
  local is_visited = {}
  local function walk(node)
    if is_visited[node] then
      return
    end
    is_visited[node] = true
    visit(node)
    for i, argument in ipairs(node) do
      if not only_reached or not STEPS[node.op] and not (node.op == "select" and i == 1) then
        walk(argument)
      end
    end
  end
  walk(root)
end

-- The value of a node for query i and key j; nil if the value does not depend on i and j alone.
local function compute_value(node, i, j)
  return (evaluate(node, { query = i, key = j, read = function() return nil end }))
end

-- Whether a causal mask or a window lets query i see key j. Other masks count as if they hid no key. In cross-attention
-- the left end of a window counts as if it hid no key, since a query whose window lies beyond the last key sees all
-- keys. mask: a section of a spec, or nil.
function M.sees(mask, is_causal, is_cross, i, j)
  local is_window = mask and mask.kind == "window"
  local left = is_window and not is_cross and mask.left or math.huge
  local right = is_causal and 0 or is_window and mask.right or math.huge
  return i - j <= left and j - i <= right
end

-- Calls visit(i, j) for the pairs to test: all pairs of TOKENS or TOKENS_OF_SUMS tokens, or, if the index depends only
-- on the distance and has no sum over keys, query 0 with keys up to FARTHEST on both sides. index_node: the node that
-- computes the index of a lookup.
local function visit_pairs(index_node, visit)
  local depends_on_distance_alone, only_reached, tokens = true, false, TOKENS
  visit_nodes(index_node, only_reached, function(node)
    local form = node.linear_form -- { q, k, c }, the factors of the two indices, and a constant (ir.lua)
    depends_on_distance_alone = depends_on_distance_alone and (not form or form[1] == -form[2])
    tokens = node.op == "sum_to_query" and TOKENS_OF_SUMS or tokens
  end)
  depends_on_distance_alone = depends_on_distance_alone and tokens == TOKENS
  for i = 0, depends_on_distance_alone and 0 or tokens - 1 do
    for j = depends_on_distance_alone and -FARTHEST or 0, depends_on_distance_alone and FARTHEST or tokens - 1 do
      visit(i, j)
    end
  end
end

-- Finds the indices, from 0, at which a lookup reads its parameter. Indices that visible pairs read are added to the
-- set `read`, and indices that hidden pairs read to the set `hidden`.
local function add_indices(view, lookup, read, hidden)
  local index_node, size = lookup[1], lookup.parameter.size
  if compute_value(index_node, 0, 0) == nil then
    for index = math.max(0, index_node.low), math.min(size - 1, index_node.high) do
      read[index] = true
    end
    return
  end
  visit_pairs(index_node, function(i, j)
    local index = math.tointeger(compute_value(index_node, i, j))
    local is_visible = M.sees(view.resolved.encoding.mask, view.causal, view.family == "cross", i, j)
    local set = is_visible and read or hidden
    if index then
      set[index] = true
    end
  end)
  for index = 0, size - 1 do -- untested pairs may read all other indices from index_node.low to index_node.high
    read[index] = read[index] or not hidden[index] and index >= index_node.low and index <= index_node.high or nil
  end
end

local function format_indices(list)
  local words, start = {}, 1
  for i = 1, #list do
    if list[i + 1] ~= list[i] + 1 then
      words[#words + 1] = start == i and ("%d"):format(list[i]) or ("%d to %d"):format(list[start], list[i])
      start = i + 1
    end
  end
  return table.concat(words, ", ", 1, math.min(#words, 4)) .. (words[5] and ", ..." or "")
end

-- Warns about the numbers of a parameter that no visible pair reads. lookups: the nodes that read the parameter.
local function warn_table(view, report, p, lookups)
  local read, hidden, unreached, is_masked = {}, {}, {}, false
  for _, node in ipairs(lookups) do
    add_indices(view, node, read, hidden)
  end
  for index = 0, p.size - 1 do
    if not read[index] then
      unreached[#unreached + 1] = index + p.first
      is_masked = is_masked or hidden[index] ~= nil
    end
  end
  if unreached[1] then
    report.warn(("%s: %d of its %d values (index %s) never get a gradient: %s"):format(
      report.get_path("encoding.parameters." .. p.name), #unreached, p.size, format_indices(unreached), is_masked
        and "the mask hides all pairs of tokens that read them" or "no pair of tokens reads them"))
  end
end

-- Symbols whose values differ between the keys of a query.
local DIFFERING = { score = true, key = true, distance = true, key_index = true, offset = true, total = true }

-- Whether a node's value differs between the keys of a query. cache: node -> the result of an earlier call.
local function differs_by_key(node, cache)
  local result = cache[node]
  if result == nil then
    result = DIFFERING[node.name] or node.op == "sum_between" or node.op == "sum_to_query"
      or node.op == "value" and node.parameter.from == "key"
    for _, argument in ipairs(node) do
      result = differs_by_key(argument, cache) or result
    end
    cache[node] = result
  end
  return result
end

-- Two results: the arguments in which a node is linear, and the factor or divisor of these arguments. Nodes with one
-- value for all keys count as constants. nil if the node is not linear in any argument.
local function find_linear_parts(node, cache)
  local op, a, b, c = node.op, node[1], node[2], node[3]
  if op == "add" or op == "sub" or op == "neg" or op == "sum" then
    return { a, b }
  elseif (op == "mul" or op == "div") and not differs_by_key(b, cache) then
    return { a }, b
  elseif op == "mul" and not differs_by_key(a, cache) then
    return { b }, a
  elseif op == "select" and not differs_by_key(a, cache) then
    return { b, c }
  end
end

-- Returns two values. The first is the set of the parameters that get a gradient through a softmax. A term that has one
-- value for all keys of a query cancels in a softmax, so parameters that only such terms read get no gradient. The
-- second is whether the score is a sum of the logit and other terms; the logit may have a factor with one value for all
-- keys.
function M.find_reached(root)
  local cache, is_visited, reached, is_logit_summand = {}, {}, {}, true
  local only_reached = true
  local function visit(term)
    visit_nodes(term, only_reached, function(node)
      if node.parameter then
        reached[node.parameter] = true
      end
      is_logit_summand = is_logit_summand and (node.name ~= "score" or node == term) -- the symbol `score` is the logit
    end)
  end
  local function walk(node)
    if is_visited[node] or not differs_by_key(node, cache) then
      return
    end
    is_visited[node] = true
    local summands, factor = find_linear_parts(node, cache)
    for _, summand in ipairs(summands or {}) do
      walk(summand)
    end
    if factor or not summands then
      visit(factor or node)
    end
  end
  walk(root)
  return reached, is_logit_summand
end

M.CANCELS = "all keys of a query get the same addition, which softmax cancels"

function M.warn_unreached(view, report)
  local formula, lookups = view.formula, {} -- lookups: parameter -> its nodes that a gradient reaches
  if not formula then
    return
  end
  local only_reached = true
  visit_nodes(formula.root, only_reached, function(node)
    local p = node.parameter
    if p then
      lists.append_to(lookups, p, node)
    end
  end)
  local reached = M.find_reached(formula.root)
  for _, p in ipairs(formula.parameters) do
    if p.learned and lookups[p] and not reached[p] then
      report.warn(("%s never gets a gradient: %s"):format(view.spec_report.get_path("encoding.parameters." .. p.name),
        M.CANCELS))
    elseif p.learned and not lookups[p] then
      report.warn(("%s never gets a gradient: only functions without a gradient read it (floor, bucket, an index, a "
        .. "comparison)"):format(report.get_path("encoding.parameters." .. p.name)))
    elseif p.learned and p.size then
      warn_table(view, report, p, lookups[p])
    end
  end
end

return M
