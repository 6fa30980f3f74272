-- Writes the formula of a score as Python with PyTorch, for the file that `export pytorch` writes.
--
-- Input: a node. Output: { lines, uses }:
--   lines   lines of a function's body
--   uses    the set of the names that the body reads:
--             symbols: score, distance, positions, index, head, layer, length; with cross-attention also memory_index
--             (the indices of keys) and key_length
--             functions of the exported file: bucket, sum_between, sum_to_query
--             kinds of parameters: own (each layer has its own), shared (by all layers), constant, values (of tokens)
-- Every leaf except a number is a tensor that broadcasts over [batch][heads][queries][keys]. The terms of a sum are
-- along a further dimension, which comes first.

local functions = require("expression.functions")
local ir = require("expression.ir")
local lists = require("base.lists")
local leaves = require("expression.leaves")
local text = require("expression.text")
local walk = require("expression.walk")

local M = {}

-- Precedences of Python: a larger number binds more tightly; text of the highest one never needs parentheses.
local COMPARISON, SUM, PRODUCT, UNARY, POWER, PRIMARY = 3, 4, 5, 6, 7, 9
local BINARY = { add = { " + ", SUM }, sub = { " - ", SUM }, mul = { " * ", PRODUCT }, div = { " / ", PRODUCT } }
local COMPARE = { less = " < ", less_equal = " <= ", equal = " == " }
local TRUTH = { all = "logical_and", any = "logical_or", negate = "logical_not" }
-- Name of a symbol -> { its text, then the names (see `uses`) that the text reads }.
local SYMBOLS = {
  score = { "score", "score" }, distance = { "distance", "distance" },
  query = { "positions[:, None]", "positions" }, key = { "positions", "positions" },
  query_index = { "index[:, None]", "index" }, key_index = { "index", "index" },
  offset = { "(index - index[:, None])", "index" }, total = { "(index + index[:, None])", "index" },
  head = { "head", "head" }, layer = { "layer", "layer" }, length = { "length", "length" },
}
-- The entries of SYMBOLS that differ in cross-attention.
local CROSS_SYMBOLS = setmetatable({
  key_index = { "memory_index", "memory_index" }, key_length = { "key_length", "key_length" },
  offset = { "(memory_index - index[:, None])", "memory_index", "index" },
  total = { "(memory_index + index[:, None])", "memory_index", "index" },
}, { __index = SYMBOLS })
local LONGEST_LINE = 96       -- characters
local MAX_UNNAMED_LENGTH = 16 -- characters; only longer parts get a name to shorten a line
local DIMENSIONS = 4          -- dimensions of scores: batch, heads, queries, keys
local MAX_REPEATED_SIZE = 2   -- operations and leaves; only larger parts that are used more than once get a name

local Printer = {}
Printer.__index = Printer

-- The text that reads a parameter from its dictionary.
function Printer:name_parameter(p)
  local kind = not p.learned and "constant" or leaves.has_layer(p) and "own" or "shared"
  self.uses[kind] = true
  return ("%s[%q]"):format(kind == "constant" and "constants" or kind, p.name)
end

-- Functions, by the kind of a node, that return the node's text and its precedence.
local printers = {
  number = function(_, node) return text.format_number(node.value), node.value < 0 and UNARY or PRIMARY end,
  neg = function(self, node) return "-" .. self:print(node[1], UNARY), UNARY end,
  pow = function(self, node) return self:print(node[1], POWER + 1) .. " ** " .. self:print(node[2], POWER), POWER end,
}

-- ir.lua makes x.distance an offset if positions are indices; the exported function has a variable for this distance.
function printers.symbol(self, node)
  local entry = node.shown == "x.distance" and SYMBOLS.distance or self.symbols[node.name]
  for i = 2, #entry do
    self.uses[entry[i]] = true
  end
  return entry[1], PRIMARY
end

function printers.parameter(self, node)
  local store = self:name_parameter(node.parameter)
  return store .. (leaves.has_head(node.parameter) and "[:, None, None]" or ""), PRIMARY
end

-- The name of a tensor: the values of a sum's index, along a dimension before all others. Adds the line that makes the
-- tensor.
function printers.index(self, node)
  if not self.terms[node] then
    self.terms[node] = "term" .. (self.term_count > 0 and self.term_count + 1 or "")
    self.term_count = self.term_count + 1
    self.lines[#self.lines + 1] = ("%s = torch.arange(%d.0).to(score)[:%s]"):format(self.terms[node], node.count,
      (", None"):rep(DIMENSIONS + node.depth))
  end
  return self.terms[node], PRIMARY
end

function printers.lookup(self, node)
  local store, index = self:name_parameter(node.parameter), node[1]
  local index_text = index.op == "number" and text.format_number(index.value) or self:print(index, PRIMARY) .. ".long()"
  if leaves.has_head(node.parameter) then
    self.uses.head = true
    return ("%s[head, %s]"):format(store, index_text), PRIMARY
  end
  return ("%s[%s]"):format(store, index_text), PRIMARY
end

-- Returns the depth of the innermost outer sum whose index the sum `node` reads; -1 if there is none.
local function find_outer_depth(node)
  local depth = -1
  walk(node, function(inner_node)
    local is_between = inner_node.op == "index" and inner_node.depth > depth and inner_node.depth < node.index.depth
    if is_between and ir.depends_on(node, inner_node) then
      depth = inner_node.depth
    end
  end)
  return depth
end

function printers.sum(self, node)
  if not ir.depends_on(node[1], node.index) then
    return ("%d * %s"):format(node.index.count, self:print(node[1], PRODUCT + 1)), PRODUCT
  end
  -- Dimension 0 belongs to node.index. The other removed dimensions have size 1: each belongs to an outer sum whose
  -- index the terms do not read.
  local dims = "0"
  for i = 1, node.index.depth - find_outer_depth(node) - 1 do
    dims = dims .. ", " .. i
  end
  return ("%s.sum(dim=%s)"):format(self:print(node[1], PRIMARY), #dims > 1 and "(" .. dims .. ")" or dims), PRIMARY
end

function printers.bucket(self, node)
  self.uses.bucket = true
  local edges = table.concat(lists.map(node.edges, text.format_number), ", ")
  return ("bucket(%s, [%s])"):format(self:print(node[1], 0), edges), PRIMARY
end

-- Values of tokens for each head. The exported file stores values of queries as [queries][1] and other values as
-- [1][keys], so all values broadcast over pairs.
function printers.value(self, node)
  self.uses.values = true
  return ("values[%q]"):format(node.parameter.name), PRIMARY
end

function printers.sum_between(self, node)
  self.uses.sum_between = true
  return ("sum_between(%s)"):format(self:print(node[1], 0)), PRIMARY
end

-- The sum over the keys from the pair's key up to the query. The argument `score` gives the shape to which the term
-- broadcasts.
function printers.sum_to_query(self, node)
  self.uses.sum_to_query, self.uses.score = true, true
  return ("sum_to_query(%s, score)"):format(self:print(node[1], 0)), PRIMARY
end

-- The text of a branch of torch.where. A whole number is written as a float, since both branches must have one type.
local function print_branch(self, node)
  local out = self:print(node, 0)
  return node.op == "number" and not out:find("[%.e]") and out .. ".0" or out
end

function printers.select(self, node)
  local condition = self:print(node[1], 0)
  return ("torch.where(%s, %s, %s)"):format(condition, print_branch(self, node[2]), print_branch(self, node[3])),
    PRIMARY
end

-- Makes the function that prints min or max. The text is x.clamp(limit=number) for a tensor and a number, and
-- torch.word(x, y) for two tensors.
local function make_bound(word, limit)
  return function(self, node)
    local left, right = node[1], node[2]
    if left.op == "number" then
      left, right = right, left
    end
    if right.op == "number" then
      return ("%s.clamp(%s=%s)"):format(self:print(left, PRIMARY), limit, self:print(right, 0)), PRIMARY
    end
    return ("torch.%s(%s, %s)"):format(word, self:print(left, 0), self:print(right, 0)), PRIMARY
  end
end

printers.min, printers.max = make_bound("minimum", "max"), make_bound("maximum", "min")

-- The text of a node, and its precedence.
function Printer:print_whole(node)
  local operator = BINARY[node.op]
  if operator then
    local sign, precedence = operator[1], operator[2]
    return self:print(node[1], precedence) .. sign .. self:print(node[2], precedence + 1), precedence
  elseif COMPARE[node.op] then
    return self:print(node[1], SUM) .. COMPARE[node.op] .. self:print(node[2], SUM), COMPARISON
  elseif printers[node.op] then
    return printers[node.op](self, node)
  end
  local parts = lists.map(node, function(argument) return self:print(argument, 0) end)
  local name = TRUTH[node.op] or functions.rows[node.op].torch or node.op
  return ("torch.%s(%s)"):format(name, table.concat(parts, ", ")), PRIMARY
end

-- Prints a node, in parentheses if its precedence is below min_precedence.
function Printer:print(node, min_precedence)
  if self.names[node] then
    return self.names[node]
  end
  local out, precedence = self:print_whole(node)
  return precedence < min_precedence and "(" .. out .. ")" or out
end

-- Returns the argument with the longest text; nil if all arguments are leaves, have names or are short.
function Printer:find_longest_part(node)
  local longest_part, longest_length
  for _, argument in ipairs(node) do
    local may_get_name = not self.names[argument] and #argument > 0
    local length = may_get_name and #self:print(argument, 0) or 0
    if length > (longest_length or MAX_UNNAMED_LENGTH) then
      longest_part, longest_length = argument, length
    end
  end
  return longest_part
end

-- Adds the line that gives a node a name, after such lines for its long parts.
function Printer:assign(node)
  local value = self:print_line(node)
  local name = text.make_name(#self.lines + 1)
  self.lines[#self.lines + 1] = ("%s = %s"):format(name, value)
  self.names[node] = name
end

-- Whether a part has more nodes than a line has characters. A named part counts as one node. The count stops at the
-- limit, since formulas may be very large.
function Printer:is_long(node)
  local free_characters = LONGEST_LINE
  local function visit(inner_node)
    free_characters = free_characters - 1
    for _, argument in ipairs(self.names[inner_node] and {} or inner_node) do
      if free_characters >= 0 then
        visit(argument)
      end
    end
  end
  visit(node)
  return free_characters < 0
end

-- Prints a node. Parts for which is_long is true get names first, then the longest parts until the text fits in a line.
function Printer:print_line(node)
  for _, argument in ipairs(node) do
    if self:is_long(argument) then
      self:assign(argument)
    end
  end
  local out = self:print_whole(node)
  while #out > LONGEST_LINE do
    local longest_part = self:find_longest_part(node)
    if not longest_part then
      break
    end
    self:assign(longest_part)
    out = self:print_whole(node)
  end
  return out
end

-- The lines and uses of a formula. crosses: whether queries attend to another sequence.
function M.format(root, crosses)
  local printer = setmetatable({ names = {}, uses = {}, lines = {}, terms = {}, term_count = 0,
    symbols = crosses and CROSS_SYMBOLS or SYMBOLS }, Printer)
  for _, node in ipairs(text.find_shared_parts(root, MAX_REPEATED_SIZE)) do
    printer:assign(node)
  end
  local result = printer:print_line(root)
  printer.lines[#printer.lines + 1] = "return " .. result
  return { lines = printer.lines, uses = printer.uses }
end

return M
