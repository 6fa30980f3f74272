-- Computes the value of a formula for one pair of tokens, in numbers of Lua.
--
-- Input: the root of a formula, and `input`, a table with these fields:
--   query, key     the indices of the query and of the key
--   read(node, index, key)   returns the value of a leaf or a lookup; nil if the value is unknown
--                  index   for a lookup: the index of the element, from 0
--                  key     the index of the key, which differs between the terms of a sum over keys
--   round(number)  rounds a number to the precision of the formula; nil: no rounding
-- Output of M.evaluate:
--   1. the value, a number or a boolean; nil if it depends on an unknown value
--   2. a table, node -> its value. A node in the term of sum_to_query has a value for each key: the table has the
--      value for the pair's key
-- The term of sum_between is computed once and multiplied by query - key, as if all tokens had equal values. If the
-- pair's key comes after the query, sum_to_query has only the pair's term.

local lists = require("base.lists")
local plain = require("expression.functions").plain

local M = {}

local truths = {
  all = function(a, b) return a and b end,
  any = function(a, b) return a or b end,
  negate = function(a) return not a end,
}

local compute

-- Makes the table of values (node -> value) for one term of a sum. It inherits only the indices of the outer sums.
local function make_term_values(values)
  return setmetatable({}, { __index = function(_, node)
    return node.op == "index" and values[node] or nil
  end })
end

-- Functions, by operation, for nodes that need more than the values of their arguments.
local special = {}

function special.sum(node, input, values)
  local total = 0
  for index = 0, node.index.count - 1 do
    local term_values = make_term_values(values)
    term_values[node.index] = index
    local term = compute(node[1], input, term_values)
    total = total and term and total + term
  end
  return total
end

function special.sum_between(node, input, values)
  local term, token_count = compute(node[1], input, values), input.query - input.key
  return term and (token_count == 0 and 0 or term * token_count)
end

function special.sum_to_query(node, input, values)
  local total = compute(node[1], input, values)
  for key = input.key + 1, input.query do
    local term_input = setmetatable({ key = key }, { __index = input })
    local term = compute(node[1], term_input, make_term_values(values))
    total = total and term and total + term
  end
  return total
end

function special.lookup(node, input, values)
  local index = math.tointeger(compute(node[1], input, values))
  return index and input.read(node, index, input.key)
end

function special.select(node, input, values)
  local condition = compute(node[1], input, values)
  if condition == nil then
    return nil
  end
  return compute(node[condition and 2 or 3], input, values)
end

function special.bucket(node, input, values)
  local value = compute(node[1], input, values)
  return value and lists.count(node.edges, function(edge) return edge <= value end)
end

local function compute_node(node, input, values)
  if node.op == "number" or node.op == "truth" then
    return node.value
  elseif node.linear_form then
    return node.linear_form[1] * input.query + node.linear_form[2] * input.key + node.linear_form[3]
  elseif special[node.op] then
    return special[node.op](node, input, values)
  elseif not node[1] then
    return input.read(node, nil, input.key)
  end
  local a = compute(node[1], input, values)
  local b = node[2] and compute(node[2], input, values)
  if a == nil or node[2] and b == nil then
    return nil
  end
  return (truths[node.op] or plain[node.op])(a, b)
end

function compute(node, input, values)
  if values[node] == nil then
    local value = compute_node(node, input, values)
    if type(value) == "number" and input.round then
      value = input.round(value)
    end
    values[node] = value
  end
  return values[node]
end

function M.evaluate(root, input)
  local values = {}
  return compute(root, input, values), values
end

return M
