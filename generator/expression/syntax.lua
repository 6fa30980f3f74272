-- Writes nodes as C expressions, with as few parentheses as possible.
--
-- The functions are methods of the emitter (emit.lua). Its method print(node, min_precedence, level) prints a node or
-- the node's name.
-- Argument: level, the level of the loop nest that uses the text.
-- Output: a text, and its precedence in C.

local functions = require("expression.functions")
local lists = require("base.lists")
local lower = require("expression.lower")
local leaves = require("expression.leaves")

local M = {}

-- Precedences of C: a larger number binds more tightly. Casts are UNARY. PRIMARY: text that never needs parentheses.
local CONDITIONAL, OR, AND, EQUALITY, ORDER, SUM, PRODUCT, UNARY, PRIMARY = 3, 4, 5, 8, 9, 11, 12, 13, 14
M.SUM, M.PRODUCT, M.UNARY, M.PRIMARY = SUM, PRODUCT, UNARY, PRIMARY

-- Operation -> { operator in C, precedence }.
local BINARY = { add = { " + ", SUM }, sub = { " - ", SUM }, mul = { " * ", PRODUCT }, div = { " / ", PRODUCT } }
-- Operation -> { operator in C, precedence, C function for vectors }.
local COMPARE = { less = { " < ", ORDER, "less_than" }, less_equal = { " <= ", ORDER, "at_most" },
  equal = { " == ", EQUALITY, "equals" }, all = { " && ", AND, "both" }, any = { " || ", OR, "either" } }

function M:find_dependencies(node)
  return lower.find_dependencies(self.state, node)
end

-- Whether a node differs from lane to lane. In code without vectors, a lane is one entry.
function M:varies(node)
  return lower.varies(self.state, node, self.environment.varying)
end

function M:is_vector(node)
  return not self.environment.is_scalar and self:varies(node)
end

function M.name_index(index)
  return "m" .. (index.depth > 0 and index.depth + 1 or "")
end

-- Makes a method that prints a node as a vector. conversion: the C function that makes a vector from a scalar.
local function make_conversion(conversion)
  return function(self, node, level)
    local text = self:print(node, 0, level)
    return self:is_vector(node) and text or ("%s(%s)"):format(conversion, text)
  end
end

M.print_vector, M.print_mask = make_conversion("broadcast"), make_conversion("make_mask")

-- The text of an integer node as an index in C, and the text's precedence.
function M:print_integer(node, level)
  if node.op == "number" then
    return ("%d"):format(node.value), node.value < 0 and UNARY or PRIMARY
  elseif node.op == "index" then
    return M.name_index(node), PRIMARY
  end
  local text, precedence
  if node.op == "symbol" then
    text, precedence = self.environment.integer(node.name)
  end
  if text then
    return text, precedence
  elseif (node.op == "add" or node.op == "sub") and not self:find_name(node) and not self.needs_name[node] then
    local operator = BINARY[node.op]
    local left = self:print_integer(node[1], level)
    local right, right_precedence = self:print_integer(node[2], level)
    right = node.op == "sub" and right_precedence <= operator[2] and "(" .. right .. ")" or right
    return left .. operator[1] .. right, operator[2]
  end
  return "(int)" .. self:print(node, UNARY, level), UNARY
end

function M:print_lookup(node, level)
  local p = node.parameter
  local per_head = leaves.has_head(p)
  local member = self.environment.parameter(p)
  if self:is_vector(node[1]) then
    local address = per_head and ("%s + h * %d"):format(member, p.size) or member
    return ("gather(%s, %s)"):format(address, self:print(node[1], 0, level))
  end
  local index = self:print_integer(node[1], level)
  return ("%s[%s%s]"):format(member, per_head and ("h * %d + "):format(p.size) or "", index)
end

function M:print_select(node, level)
  if not self:is_vector(node) then
    local parts = lists.map(node, function(argument) return self:print(argument, CONDITIONAL + 1, level) end)
    return ("%s ? %s : %s"):format(table.unpack(parts)), CONDITIONAL
  end
  local mask = self:print_mask(node[1], level)
  if node[3].op == "number" and node[3].value == 0 then
    return ("keep_where(%s, %s)"):format(mask, self:print_vector(node[2], level)), PRIMARY
  elseif node[2].op == "number" and node[2].value == 0 then
    return ("keep_where(not_of(%s), %s)"):format(mask, self:print_vector(node[3], level)), PRIMARY
  end
  local values = { self:print_vector(node[2], level), self:print_vector(node[3], level) }
  return ("choose(%s, %s, %s)"):format(mask, values[1], values[2]), PRIMARY
end

function M:print_call(node, level)
  local vector, row = self:is_vector(node), functions.rows[node.op]
  local parts = lists.map(node, function(argument)
    return vector and self:print_vector(argument, level) or self:print(argument, 0, level)
  end)
  return ("%s(%s)"):format(vector and row.vector or row.scalar, table.concat(parts, ", "))
end

function M:print_comparison(node, level)
  local form = COMPARE[node.op]
  if self:is_vector(node) then
    local convert = (node.op == "all" or node.op == "any") and self.print_mask or self.print_vector
    return ("%s(%s, %s)"):format(form[3], convert(self, node[1], level), convert(self, node[2], level)), PRIMARY
  end
  return self:print(node[1], form[2], level) .. form[1] .. self:print(node[2], form[2] + 1, level), form[2]
end

function M:print_bucket(node, level)
  local edges = self.environment.edges(node.edges)
  local name = self:is_vector(node) and "bucket_of" or "bucket_real"
  return ("%s(%s, %d, %s)"):format(name, self:print(node[1], 0, level), #node.edges, edges)
end

-- Operation -> the method that prints a node of this operation.
local printers = {
  lookup = M.print_lookup, select = M.print_select, bucket = M.print_bucket,
  number = function(self, node) return self.environment.literal(node.value), node.value < 0 and UNARY or PRIMARY end,
  truth = function(_, node) return node.value and "true" or "false" end,
  symbol = function(self, node) return self.environment.symbol(node.name) end,
  table = function(self, node) return self.environment.load(node.table) end,
  row_sum = function(self, node) return self.environment.row_sum(node) end,
  index = function(_, node) return "(real)" .. M.name_index(node), UNARY end,
  value = function(self, node) return self.environment.value(node.parameter) end,
  parameter = function(self, node)
    return self.environment.parameter(node.parameter) .. (leaves.has_head(node.parameter) and "[h]" or "[0]")
  end,
  head_sum = function(self, node, level)
    return node[1] and ("%s[%s]"):format(node.name, (self:print_integer(node[1], level))) or node.name
  end,
}

-- The text of a node, and its precedence.
function M:print_whole(node, level)
  local operator = BINARY[node.op]
  if operator then
    local right = (node.op == "sub" or node.op == "div") and operator[2] + 1 or operator[2]
    return self:print(node[1], operator[2], level) .. operator[1] .. self:print(node[2], right, level), operator[2]
  elseif node.op == "neg" then
    return "-" .. self:print(node[1], PRIMARY, level), UNARY
  elseif node.op == "negate" then -- the opposite of a truth value
    if self:is_vector(node) then
      return ("not_of(%s)"):format(self:print(node[1], 0, level)), PRIMARY
    end
    return "!" .. self:print(node[1], PRIMARY, level), UNARY
  elseif COMPARE[node.op] then
    return self:print_comparison(node, level)
  elseif functions.rows[node.op] then
    return self:print_call(node, level), PRIMARY
  end
  local text, precedence = printers[node.op](self, node, level)
  return text, precedence or PRIMARY
end

return M
