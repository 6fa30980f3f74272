-- A score expression as Python with PyTorch, for the file that `export pytorch` writes.
--
-- Input: a node. Output: { lines, uses }: a function's body, in which large parts that are used more than once outside
-- of sums have names, and the names that the body reads: symbols (score, distance, positions, index, head, layer,
-- length), functions of the exported file (bucket), and kinds of parameters (own: a layer's, shared, constant). With
-- cross-attention there are also memory_index, for keys, and key_length.
-- Every leaf except a number is a tensor that broadcasts over [batch][heads][queries][keys]. Terms of a sum lie along a
-- dimension before these.

local functions = require("expression.functions")
local ir = require("expression.ir")
local lists = require("base.lists")
local shapes = require("expression.leaves")
local text = require("expression.text")
local walk = require("expression.walk")

local M = {}

local BINARY = { add = { " + ", 4 }, sub = { " - ", 4 }, mul = { " * ", 5 }, div = { " / ", 5 } }
local COMPARE = { less = " < ", less_equal = " <= ", equal = " == " }
local TRUTH = { all = "logical_and", any = "logical_or", negate = "logical_not" }
-- For each symbol, the text and the names that the text reads.
local SYMBOLS = {
  score = { "score", "score" }, distance = { "distance", "distance" },
  query = { "positions[:, None]", "positions" }, key = { "positions", "positions" },
  query_index = { "index[:, None]", "index" }, key_index = { "index", "index" },
  offset = { "(index - index[:, None])", "index" }, total = { "(index + index[:, None])", "index" },
  head = { "head", "head" }, layer = { "layer", "layer" }, length = { "length", "length" },
}
-- The symbols of cross-attention, in the form of SYMBOLS.
local CROSSING = setmetatable({
  key_index = { "memory_index", "memory_index" }, key_length = { "key_length", "key_length" },
  offset = { "(memory_index - index[:, None])", "memory_index", "index" },
  total = { "(memory_index + index[:, None])", "memory_index", "index" },
}, { __index = SYMBOLS })
local LINE, SHORTEST = 96, 16 -- characters of a line at most; characters of a part that is worth a name
local DIMENSIONS = 4          -- dimensions of scores: batch, heads, queries, keys
local SHARED = 2              -- operations and leaves of the largest part that is written out wherever it is used
local UNARY, POWER, PRIMARY = 6, 7, 9 -- precedences of Python

local Printer = {}
Printer.__index = Printer

function Printer:name_store(p)
  local place = not p.learned and "constant" or shapes.has_layer(p) and "own" or "shared"
  self.uses[place] = true
  return ("%s[%q]"):format(place == "constant" and "constants" or place, p.name)
end

local leaves = {
  number = function(_, node) return text.format_number(node.value), node.value < 0 and UNARY or PRIMARY end,
  neg = function(self, node) return "-" .. self:print(node[1], UNARY), UNARY end,
  pow = function(self, node) return self:print(node[1], POWER + 1) .. " ** " .. self:print(node[2], POWER), POWER end,
}

function leaves.symbol(self, node)
  local known = node.shown == "x.distance" and SYMBOLS.distance or self.symbols[node.name]
  for i = 2, #known do
    self.uses[known[i]] = true
  end
  return known[1], PRIMARY
end

function leaves.parameter(self, node)
  local store = self:name_store(node.parameter)
  return store .. (shapes.has_head(node.parameter) and "[:, None, None]" or ""), PRIMARY
end

-- The numbers of a sum's terms, along a dimension before all others; an earlier line of the body makes them.
function leaves.index(self, node)
  if not self.terms[node] then
    self.terms[node] = "term" .. (self.term_count > 0 and self.term_count + 1 or "")
    self.term_count = self.term_count + 1
    self.lines[#self.lines + 1] = ("%s = torch.arange(%d.0).to(score)[:%s]"):format(self.terms[node], node.count,
      (", None"):rep(DIMENSIONS + node.depth))
  end
  return self.terms[node], PRIMARY
end

function leaves.lookup(self, node)
  local store, index = self:name_store(node.parameter), node[1]
  local index_text = index.op == "number" and text.format_number(index.value) or self:print(index, PRIMARY) .. ".long()"
  if shapes.has_head(node.parameter) then
    self.uses.head = true
    return ("%s[head, %s]"):format(store, index_text), PRIMARY
  end
  return ("%s[%s]"):format(store, index_text), PRIMARY
end

-- The depth of the innermost enclosing sum that a sum depends on; -1: none. The terms of the inner sum lie behind the
-- dimensions of the sums between these two; summation removes all these dimensions together.
local function find_outer_depth(node)
  local deepest = -1
  walk(node, function(part)
    if part.op == "index" and part.depth > deepest and part.depth < node.index.depth and ir.depends_on(node, part) then
      deepest = part.depth
    end
  end)
  return deepest
end

function leaves.sum(self, node)
  if not ir.depends_on(node[1], node.index) then
    return ("%d * %s"):format(node.index.count, self:print(node[1], BINARY.mul[2] + 1)), BINARY.mul[2]
  end
  local dims = "0"
  for i = 1, node.index.depth - find_outer_depth(node) - 1 do
    dims = dims .. ", " .. i
  end
  return ("%s.sum(dim=%s)"):format(self:print(node[1], PRIMARY), #dims > 1 and "(" .. dims .. ")" or dims), PRIMARY
end

function leaves.bucket(self, node)
  self.uses.bucket = true
  local edges = table.concat(lists.map(node.edges, text.format_number), ", ")
  return ("bucket(%s, [%s])"):format(self:print(node[1], 0), edges), PRIMARY
end

-- The text of a branch of torch.where: a whole number as a float, since the types of the branches must agree.
local function print_branch(self, node)
  local out = self:print(node, 0)
  return node.op == "number" and not out:find("[%.e]") and out .. ".0" or out
end

function leaves.select(self, node)
  local condition = self:print(node[1], 0)
  return ("torch.where(%s, %s, %s)"):format(condition, print_branch(self, node[2]), print_branch(self, node[3])),
    PRIMARY
end

-- Makes a function for the text of min or max: clamp for a tensor and a number, a function for two tensors.
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

leaves.min, leaves.max = make_bound("minimum", "max"), make_bound("maximum", "min")

-- The text of a node, and how tightly it binds.
function Printer:print_whole(node)
  local operator = BINARY[node.op]
  if operator then
    local own = operator[2]
    return self:print(node[1], own) .. operator[1] .. self:print(node[2], own + 1), own
  elseif COMPARE[node.op] then
    return self:print(node[1], 4) .. COMPARE[node.op] .. self:print(node[2], 4), 3
  elseif leaves[node.op] then
    return leaves[node.op](self, node)
  end
  local parts = lists.map(node, function(argument) return self:print(argument, 0) end)
  local name = TRUTH[node.op] or functions.rows[node.op].torch or node.op
  return ("torch.%s(%s)"):format(name, table.concat(parts, ", ")), PRIMARY
end

-- Prints a node. binding: how tightly the context binds; weaker operations get parentheses.
function Printer:print(node, binding)
  if self.names[node] then
    return self.names[node]
  end
  local out, own = self:print_whole(node)
  return own < binding and "(" .. out .. ")" or out
end

-- The part of a node with the longest text that can be named before it.
function Printer:find_longest_part(node)
  local best, longest
  for _, argument in ipairs(node) do
    local free = not self.names[argument] and #argument > 0
    local length = free and #self:print(argument, 0) or 0
    if free and length > (longest or SHORTEST) then
      best, longest = argument, length
    end
  end
  return best
end

-- Names a part; first names those of its parts that are too long for a line.
function Printer:assign(node)
  local value = self:fit(node)
  local name = text.make_name(#self.lines + 1)
  self.lines[#self.lines + 1] = ("%s = %s"):format(name, value)
  self.names[node] = name
end

-- Whether a part has more operations and unnamed leaves than a line has characters.
function Printer:is_long(node)
  local left = LINE
  local function visit(part)
    left = left - 1
    for _, argument in ipairs(self.names[part] and {} or part) do
      if left >= 0 then
        visit(argument)
      end
    end
  end
  visit(node)
  return left < 0
end

-- The text of a node. Parts that no line can hold are named first, then the longest parts until the line is short
-- enough.
function Printer:fit(node)
  for _, argument in ipairs(node) do
    if self:is_long(argument) then
      self:assign(argument)
    end
  end
  local out = self:print_whole(node)
  while #out > LINE do
    local part = self:find_longest_part(node)
    if not part then
      break
    end
    self:assign(part)
    out = self:print_whole(node)
  end
  return out
end

-- The lines and uses of a formula. crosses: queries attend to another sequence.
function M.format(root, crosses)
  local printer = setmetatable({ names = {}, uses = {}, lines = {}, terms = {}, term_count = 0,
    symbols = crosses and CROSSING or SYMBOLS }, Printer)
  for _, node in ipairs(text.find_shared_parts(root, SHARED)) do
    printer:assign(node)
  end
  local result = printer:fit(root)
  printer.lines[#printer.lines + 1] = "return " .. result
  return { lines = printer.lines, uses = printer.uses }
end

return M
