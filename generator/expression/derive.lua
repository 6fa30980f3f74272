-- Reverse-mode derivatives of a lowered formula, as nodes of the same builder.
--
-- Input: a builder, a node, the gradient of this node (a node), and a predicate that selects leaves. Output: a list of
-- { leaf, gradient, loops } in the order of the leaves' ids. leaf is a symbol, parameter, lookup or load from a table,
-- or a node at which the caller stops. loops are the indices of the sums around the leaf, outermost first: the caller
-- must sum the gradient over these indices.

local functions = require("expression.functions")
local ir = require("expression.ir")
local lists = require("base.lists")

local M = {}

-- Functions of a builder, a node and the node's gradient a that return the gradients of the node's arguments.
local rules = {
  add = function(_, _, a) return a, a end,
  sub = function(b, _, a) return a, b:apply("neg", a) end,
  neg = function(b, _, a) return b:apply("neg", a) end,
  mul = function(b, node, a) return b:apply("mul", a, node[2]), b:apply("mul", a, node[1]) end,
  div = function(b, node, a)
    local quotient = b:apply("div", a, node[2])
    return quotient, b:apply("neg", b:apply("mul", quotient, node))
  end,
  select = function(b, node, a) return nil, b:apply("select", node[1], a, 0), b:apply("select", node[1], 0, a) end,
}
local has_zero_gradients = { bucket = true } -- by operation: whether all its gradients are 0

for name, row in next, functions.rows do
  rules[name], has_zero_gradients[name] = row.gradient, not row.gradient
end

-- Makes a function that returns whether a gradient that reaches a node also reaches a wanted leaf below it.
local function make_predicate(is_wanted)
  local results = {}
  local function leads_to_leaf(node)
    if results[node] == nil then
      results[node] = is_wanted(node) or false
      for _, argument in ipairs(node) do
        results[node] = leads_to_leaf(argument) or results[node]
      end
      if has_zero_gradients[node.op] or node.type == "truth" then
        results[node] = false
      end
    end
    return results[node]
  end
  return leads_to_leaf
end

local Walk = {}
Walk.__index = Walk

function Walk:add(gradients, node, gradient)
  gradients[node] = gradients[node] and assert(self.builder:apply("add", gradients[node], gradient)) or gradient
end

-- The node with the largest id that has a gradient. Its gradient is complete, since nodes that use it have larger ids.
local function find_last(gradients)
  local last
  for node in next, gradients do
    if not last or node.id > last.id then
      last = node
    end
  end
  return last
end

local LEAVES = { symbol = true, parameter = true, lookup = true, table = true, value = true }

-- Sends the gradient of a sum down to its term. Gradients of parts that do not need the sum's index are summed over the
-- index and added to `outer`.
function Walk:add_sum(outer, node, gradient, loops)
  local inner, constant_gradients = { [node[1]] = gradient }, {}
  self:descend(inner, lists.join(loops, { node.index }), function(child, gradient_of_child)
    if ir.depends_on(child, node.index) then
      return false
    end
    self:add(constant_gradients, child, gradient_of_child)
    return true
  end)
  while next(constant_gradients) do
    local child = find_last(constant_gradients)
    self:add(outer, child, self.builder:sum_over(node.index, constant_gradients[child]))
    constant_gradients[child] = nil
  end
end

-- Propagates gradients, by node, to the leaves. take(node, gradient), if given, takes the gradient of a node that does
-- not need the innermost index, and returns whether it did.
function Walk:descend(gradients, loops, take)
  while next(gradients) do
    local node = find_last(gradients)
    local gradient = gradients[node]
    gradients[node] = nil
    if take and take(node, gradient) then -- luacheck: ignore 542
    elseif LEAVES[node.op] or self.stops[node] then
      self.found[#self.found + 1] = { leaf = node, gradient = gradient, loops = loops }
    elseif node.op == "sum" then
      self:add_sum(gradients, node, gradient, loops)
    else
      local parts = table.pack(rules[node.op](self.builder, node, gradient, self.wants))
      for i, argument in ipairs(node) do
        if self.wants(argument) then
          self:add(gradients, argument, assert(parts[i], node.op))
        end
      end
    end
  end
end

-- Returns the gradients of the leaves for which is_wanted(leaf) is true. stops: a set of nodes that also count as
-- leaves.
function M.derive(builder, root, gradient, is_wanted, stops)
  stops = stops or {}
  local walk = setmetatable({ builder = builder, found = {}, wants = make_predicate(is_wanted), stops = stops }, Walk)
  if walk.wants(root) then
    walk:descend({ [root] = gradient }, {})
  end
  local entries = lists.filter(walk.found, function(entry)
    return (is_wanted(entry.leaf) or stops[entry.leaf]) and not functions.is_number(entry.gradient, 0)
  end)
  table.sort(entries, function(x, y)
    return x.leaf.id < y.leaf.id or x.leaf.id == y.leaf.id and x.gradient.id < y.gradient.id
  end)
  return entries
end

return M
