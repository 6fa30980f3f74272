-- Writes the formula of a score as text in the syntax of a spec, for messages, the command `plan`, and digests.
--
-- Input: a node. Output: one line; equal formulas have equal lines. A large part that occurs more than once is named
-- first: "a = exp(...); x.score * a - a". Parts inside a sum may depend on the sum's index; they are written each time
-- that they occur, so a text can be very long. M.count_written returns the size of the text without making it. Sizes
-- are numbers of operations and leaves.

local lists = require("base.lists")
local walk = require("expression.walk")

local M = {}

-- Precedences: a larger number binds more tightly; text of the highest precedence never needs parentheses.
local SUM, PRODUCT, SIGN, PRIMARY = 4, 5, 6, 9
local BINARY = { add = { " + ", SUM }, sub = { " - ", SUM }, mul = { " * ", PRODUCT }, div = { " / ", PRODUCT } }
local MAX_MESSAGE_SIZE = 40 -- operations of the largest formula that a message shows
local MAX_REPEATED_SIZE = 6 -- operations of the largest part that is written each time that it occurs

-- A number in at most 9 digits if they are exact, else in 17 digits; integers below 2^53 with all digits.
function M.format_number(value)
  if value == math.floor(value) and math.abs(value) < 2 ^ 53 then
    return ("%d"):format(value)
  end
  local short_text = ("%.9g"):format(value)
  return tonumber(short_text) == value and short_text or ("%.17g"):format(value)
end

-- The number of uses of each node in the formulas with these roots; and the list of nodes, each after its arguments.
function M.count_uses(roots)
  local uses, order = {}, {}
  local function visit(node)
    uses[node] = (uses[node] or 0) + 1
    if uses[node] == 1 then
      for _, argument in ipairs(node) do
        visit(argument)
      end
      order[#order + 1] = node
    end
  end
  for _, root in ipairs(roots) do
    visit(root)
  end
  return uses, order
end

local NAMES = "abcdefghijklmnopqrstuvw" -- letters before x, the argument of scores

function M.make_name(i)
  local letter = (i - 1) % #NAMES + 1
  return NAMES:sub(letter, letter) .. (i > #NAMES and tostring((i - 1) // #NAMES) or "")
end

local function name_index(node)
  return "i" .. (node.depth > 0 and node.depth or "")
end

local print_node

-- Functions, by operation, that return the text of a node. A symbol with the field `shown` has this text in a spec. A
-- table with the field is_of_tokens has a number for each token; its class tells whether a pair reads the number of its
-- "query" or of its "key".
local printers = {
  number = function(node) return M.format_number(node.value) end,
  truth = function(node) return tostring(node.value) end,
  symbol = function(node) return node.shown or "x." .. node.name end,
  parameter = function(node) return "x." .. node.parameter.name end,
  value = function(node) return "x." .. node.parameter.name end,
  table = function(node)
    local t = node.table
    return t.name .. (t.is_of_tokens and ("[%s]"):format(t.class) or "")
  end,
  row_sum = function(node) return node.name end,
  index = name_index,
}

-- A lookup in a parameter; the index counts from 0 in the node, and from the parameter's first index in a spec.
function printers.lookup(node, names)
  local first, index = node.parameter.first or 0, node[1]
  local constant = (index.op == "add" or index.op == "sub") and index[2].value or 0
  local shift = index.op == "sub" and -constant or constant
  local text
  if first ~= 0 and shift == -first then
    text = print_node(index[1], names, 0)
  else
    text = print_node(index, names, 0) .. (first > 0 and " + " .. first or first < 0 and " - " .. -first or "")
  end
  return ("lookup(x.%s, %s)"):format(node.parameter.name, text)
end

function printers.sum(node, names)
  return ("sum(%d, %s: %s)"):format(node.index.count, name_index(node.index), print_node(node[1], names, 0))
end

function printers.bucket(node, names)
  local edges = table.concat(lists.map(node.edges, M.format_number), ", ")
  return ("bucket(%s, { %s })"):format(print_node(node[1], names, 0), edges)
end

-- Prints a node, in parentheses if its precedence is below min_precedence. names: node -> the name of this part.
function print_node(node, names, min_precedence)
  if names[node] then
    return names[node]
  end
  local operator = BINARY[node.op]
  local text, precedence
  if operator then
    precedence = operator[2]
    text = print_node(node[1], names, precedence) .. operator[1] .. print_node(node[2], names, precedence + 1)
  elseif node.op == "neg" then
    precedence = SIGN
    text = "-" .. print_node(node[1], names, SIGN + 1)
  elseif printers[node.op] then
    precedence = node.op == "number" and node.value < 0 and SIGN or PRIMARY
    text = printers[node.op](node, names)
  else
    precedence = PRIMARY
    local parts = lists.map(node, function(argument) return print_node(argument, names, 0) end)
    text = ("%s(%s)"):format(node.op, table.concat(parts, ", "))
  end
  return precedence < min_precedence and "(" .. text .. ")" or text
end

-- The set of parts inside sums, which get no name since they may depend on the sum's index.
local function find_parts_of_sums(root)
  local is_in_sum = {}
  walk(root, function(node)
    if node.op == "sum" then
      walk(node[1], function(inner_node)
        local is_known = is_in_sum[inner_node]
        is_in_sum[inner_node] = true
        return is_known -- true: its parts are known, too
      end)
    end
  end)
  return is_in_sum
end

-- The list of parts outside of sums that are used more than once and are larger than `limit`, each after its own parts.
-- A part that is used several times adds to the size of a formula each time. A size is a float, because it can exceed
-- all integers.
function M.find_shared_parts(root, limit)
  local uses, order = M.count_uses({ root })
  local is_in_sum, size, list = find_parts_of_sums(root), {}, {}
  for _, node in ipairs(order) do
    size[node] = 1.0
    for _, argument in ipairs(node) do
      size[node] = size[node] + size[argument]
    end
    if node ~= root and uses[node] > 1 and size[node] > limit and not is_in_sum[node] then
      list[#list + 1] = node
    end
  end
  return list
end

-- The size of the text of M.format.
function M.count_written(root)
  local parts, count = lists.to_set(M.find_shared_parts(root, MAX_REPEATED_SIZE)), {}
  local function visit(node)
    if not count[node] then
      count[node] = 1.0
      for _, argument in ipairs(node) do
        visit(argument)
        count[node] = count[node] + (parts[argument] and 1 or count[argument])
      end
    end
    return count[node]
  end
  local total = visit(root)
  for node in next, parts do
    total = total + count[node]
  end
  return total
end

-- The formula as text for a message; words in place of a long formula.
function M.format_briefly(node)
  return M.count_written(node) <= MAX_MESSAGE_SIZE and M.format(node)
    or "a formula of more than " .. MAX_MESSAGE_SIZE .. " operations"
end

function M.format(root)
  local names, parts = {}, {}
  for i, node in ipairs(M.find_shared_parts(root, MAX_REPEATED_SIZE)) do
    local text = print_node(node, names, 0)
    names[node] = M.make_name(i)
    parts[i] = names[node] .. " = " .. text
  end
  parts[#parts + 1] = print_node(root, names, 0)
  return table.concat(parts, "; ")
end

return M
