-- Computes reverse-mode derivatives of a lowered formula (lower.lua), as nodes of the formula's builder.
--
-- Input of M.derive:
--   builder      the builder of the formula (ir.lua)
--   gradients    node -> the node of its gradient
--   is_wanted    is_wanted(leaf): whether the caller needs the leaf's gradient
--   stops        nil, or a set of nodes that also count as leaves
-- Output: a list of entries in the order of the leaves' ids. Fields of an entry:
--   leaf         a node whose op is in LEAVES, or a node of `stops`
--   gradient     the node of the leaf's gradient
--   loops        the indices of the sums around the leaf, outermost first: the caller must sum the gradient over them

local functions = require("expression.functions")
local ir = require("expression.ir")
local lists = require("base.lists")

local M = {}

-- Operation -> a function (b, node, d) that returns the gradients of the node's arguments. b: the builder; d: the
-- gradient of the node.
local rules = {
  add = function(_, _, d) return d, d end,
  sub = function(b, _, d) return d, b:apply("neg", d) end,
  neg = function(b, _, d) return b:apply("neg", d) end,
  mul = function(b, node, d) return b:apply("mul", d, node[2]), b:apply("mul", d, node[1]) end,
  div = function(b, node, d)
    local quotient = b:apply("div", d, node[2])
    return quotient, b:apply("neg", b:apply("mul", quotient, node))
  end,
  select = function(b, node, d) return nil, b:apply("select", node[1], d, 0), b:apply("select", node[1], 0, d) end,
}
local has_zero_gradients = { bucket = true } -- operation -> whether all its gradients are 0

for name, row in next, functions.rows do
  rules[name], has_zero_gradients[name] = row.gradient, not row.gradient
end

-- Returns the function leads_to_leaf(node): whether a gradient of the node reaches a wanted leaf.
local function make_leads_to_leaf(is_wanted)
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

-- The state of one derivation:
--   builder, stops   the arguments of M.derive
--   entries          the list of entries so far
--   leads_to_leaf    the result of make_leads_to_leaf
local Walk = {}
Walk.__index = Walk

function Walk:add(gradients, node, gradient)
  gradients[node] = gradients[node] and assert(self.builder:apply("add", gradients[node], gradient)) or gradient
end

-- The node with the largest id that has a gradient. Its gradient is complete, since nodes that use it have larger ids.
local function find_last_node(gradients)
  local last_node
  for node in next, gradients do
    if not last_node or node.id > last_node.id then
      last_node = node
    end
  end
  return last_node
end

local LEAVES = { symbol = true, parameter = true, lookup = true, table = true, row_sum = true, value = true }

-- Propagates the gradient of a sum into the sum's term. Some parts of the term do not depend on the sum's index. The
-- gradient of such a part is summed over the index, and added to outer_gradients.
function Walk:propagate_sum(outer_gradients, node, gradient, loops)
  local inner_gradients, constant_gradients = { [node[1]] = gradient }, {}
  self:descend(inner_gradients, lists.join(loops, { node.index }), function(child, gradient_of_child)
    if ir.depends_on(child, node.index) then
      return false
    end
    self:add(constant_gradients, child, gradient_of_child)
    return true
  end)
  while next(constant_gradients) do
    local child = find_last_node(constant_gradients)
    self:add(outer_gradients, child, self.builder:sum_over(node.index, constant_gradients[child]))
    constant_gradients[child] = nil
  end
end

-- Propagates the gradient of a node to its arguments, or makes the entry of a leaf.
function Walk:propagate(gradients, node, gradient, loops)
  if LEAVES[node.op] or self.stops[node] then
    self.entries[#self.entries + 1] = { leaf = node, gradient = gradient, loops = loops }
    return
  elseif node.op == "sum" then
    self:propagate_sum(gradients, node, gradient, loops)
    return
  end
  local argument_gradients = table.pack(rules[node.op](self.builder, node, gradient, self.leads_to_leaf))
  for i, argument in ipairs(node) do
    if self.leads_to_leaf(argument) then
      self:add(gradients, argument, assert(argument_gradients[i], node.op))
    end
  end
end

-- Propagates gradients (node -> its gradient) to the leaves. take(node, gradient) may process a gradient itself, and
-- returns whether it did; take may be nil.
function Walk:descend(gradients, loops, take)
  while next(gradients) do
    local node = find_last_node(gradients)
    local gradient = gradients[node]
    gradients[node] = nil
    if not (take and take(node, gradient)) then
      self:propagate(gradients, node, gradient, loops)
    end
  end
end

function M.derive(builder, gradients, is_wanted, stops)
  stops = stops or {}
  local walk = setmetatable({ builder = builder, stops = stops, entries = {},
    leads_to_leaf = make_leads_to_leaf(is_wanted) }, Walk)
  local needed_gradients = {}
  for node, gradient in next, gradients do
    needed_gradients[node] = walk.leads_to_leaf(node) and gradient or nil
  end
  walk:descend(needed_gradients, {})
  local entries = lists.filter(walk.entries, function(entry)
    return (is_wanted(entry.leaf) or stops[entry.leaf]) and not functions.is_number(entry.gradient, 0)
  end)
  table.sort(entries, function(x, y)
    return x.leaf.id < y.leaf.id or x.leaf.id == y.leaf.id and x.gradient.id < y.gradient.id
  end)
  return entries
end

return M
