-- Makes the node for an operation of a score in its simplest form, with its type and range. functions.lua makes the
-- nodes for functions of numbers, such as exp.
--
-- Input: a builder b (ir.lua) and nodes of the right types. Output: a node, or nil and a problem. Simplifications:
-- constants are computed, terms of 0 and factors of 1 are dropped, minus signs move outwards, combinations of the
-- indices of query and key become their difference or sum, and comparisons whose result follows from ranges are
-- computed. They change the value of a real only by rounding.
--
-- A linear form { q, k, c } stands for the number q * query_index + k * key_index + c; a node with this value has the
-- form in node.linear_form.

local functions = require("expression.functions")
local lists = require("base.lists")
local text = require("expression.text")

local M = {}

local HUGE = math.huge
local KEEPS_INTEGERS = true -- argument of make_result: the result is an integer if all arguments are integers

local is_number, refuse = functions.is_number, functions.refuse

-- The product of two bounds of ranges, in which 0 times infinity is 0.
local function multiply(x, y)
  return (x == 0 or y == 0) and 0 or x * y
end

local function negate_number(b, x)
  local form = x.linear_form
  local linear_form = form and { -form[1], -form[2], -form[3] }
  return b:make_result("neg", { x }, KEEPS_INTEGERS, -x.high, -x.low, linear_form)
end

local function find_product_range(x, y)
  local products = { multiply(x.low, y.low), multiply(x.low, y.high), multiply(x.high, y.low),
    multiply(x.high, y.high) }
  return math.min(table.unpack(products)), math.max(table.unpack(products))
end

-- The node of a linear form that is a constant, or a constant plus a multiple of the difference or sum of the indices;
-- nil for other forms.
local function simplify_linear_form(b, linear_form)
  local q, k, c = linear_form[1], linear_form[2], linear_form[3]
  local symbol = q == -k and "offset" or q == k and "total"
  if q == 0 and k == 0 then
    return b:number(c)
  elseif not symbol then
    return nil
  end
  local node = b:symbol(symbol)
  if k ~= 1 then
    local form_without_constant = { q, k, 0 }
    node = k == -1 and negate_number(b, node) or b:make_result("mul", { b:number(k), node }, KEEPS_INTEGERS,
      math.min(k * node.low, k * node.high), math.max(k * node.low, k * node.high), form_without_constant)
  end
  if c == 0 then
    return node
  end
  return b:make_result("add", { node, b:number(c) }, KEEPS_INTEGERS, node.low + c, node.high + c, linear_form)
end

-- The linear form of x + sign * y; nil if x or y has none.
local function combine_linear_forms(x, y, sign)
  local a, b = x.linear_form, y.linear_form
  return a and b and { a[1] + sign * b[1], a[2] + sign * b[2], a[3] + sign * b[3] } or nil
end

-- Whether both nodes have linear forms, and neither is a constant.
local function have_linear_forms(x, y)
  return x.linear_form and y.linear_form and not (is_number(x) or is_number(y))
end

-- Whether the reciprocal of a constant is exact.
local function is_power_of_two(value)
  return ("%a"):format(math.abs(value)):find("^0x1p") ~= nil
end

function M.neg(b, x)
  if is_number(x) then
    return b:number(-x.value)
  elseif x.op == "neg" then
    return x[1]
  elseif x.op == "sub" then
    return M.sub(b, x[2], x[1])
  elseif x.op == "mul" and is_number(x[1]) then
    return M.mul(b, b:number(-x[1].value), x[2])
  end
  return negate_number(b, x)
end

-- The constant that a node x + c or x - c adds to x, or nil.
local function find_added_constant(node)
  if (node.op == "add" or node.op == "sub") and is_number(node[2]) then
    return node.op == "add" and node[2].value or -node[2].value
  end
end

function M.add(b, x, y)
  if is_number(x) and not is_number(y) then
    x, y = y, x
  end
  if is_number(y) and find_added_constant(x) then
    return M.add(b, x[1], b:number(find_added_constant(x) + y.value))
  elseif is_number(x) and is_number(y) then
    return b:number(x.value + y.value)
  elseif is_number(y, 0) then
    return x
  elseif y.op == "neg" then
    return M.sub(b, x, y[1])
  elseif x.op == "neg" then
    return M.sub(b, y, x[1])
  elseif is_number(y) and y.value < 0 then
    return M.sub(b, x, b:number(-y.value))
  elseif x == y then
    return M.mul(b, b:number(2), x)
  end
  local linear_form = combine_linear_forms(x, y, 1)
  return have_linear_forms(x, y) and simplify_linear_form(b, linear_form)
    or b:make_result("add", { x, y }, KEEPS_INTEGERS, x.low + y.low, x.high + y.high, linear_form)
end

function M.sub(b, x, y)
  if is_number(x) and is_number(y) then
    return b:number(x.value - y.value)
  elseif is_number(y, 0) then
    return x
  elseif is_number(x, 0) then
    return M.neg(b, y)
  elseif is_number(y) and find_added_constant(x) then
    return M.add(b, x, b:number(-y.value))
  elseif x == y then
    return b:number(0)
  elseif y.op == "neg" then
    return M.add(b, x, y[1])
  elseif is_number(y) and y.value < 0 then
    return M.add(b, x, b:number(-y.value))
  end
  local linear_form = combine_linear_forms(x, y, -1)
  return have_linear_forms(x, y) and simplify_linear_form(b, linear_form)
    or b:make_result("sub", { x, y }, KEEPS_INTEGERS, x.low - y.high, x.high - y.low, linear_form)
end

-- A product, in which a factor and its reciprocal cancel: (a / b) * b is a, and a * (1 / b) is a / b.
function M.mul(b, x, y)
  if is_number(y) and not is_number(x) then
    x, y = y, x
  end
  if is_number(x) and is_number(y) then
    return b:number(x.value * y.value)
  elseif is_number(x, 0) then
    return b:number(0)
  elseif is_number(x, 1) then
    return y
  elseif is_number(x, -1) then
    return M.neg(b, y)
  elseif x.op == "neg" then
    return M.neg(b, M.mul(b, x[1], y))
  elseif y.op == "neg" then
    return M.neg(b, M.mul(b, x, y[1]))
  elseif is_number(x) and y.op == "mul" and is_number(y[1]) then
    return M.mul(b, b:number(x.value * y[1].value), y[2])
  elseif x.op == "div" and (x[2] == y or is_number(x[1], 1)) then
    return x[2] == y and x[1] or M.div(b, y, x[2])
  elseif y.op == "div" and (y[2] == x or is_number(y[1], 1)) then
    return y[2] == x and y[1] or M.div(b, x, y[2])
  end
  local form = y.linear_form
  local linear_form = is_number(x) and form and { x.value * form[1], x.value * form[2], x.value * form[3] }
  local low, high = find_product_range(x, y)
  low = x == y and low < 0 and 0 or low
  return b:make_result("mul", { x, y }, KEEPS_INTEGERS, low, high, linear_form or nil)
end

function M.div(b, x, y)
  if is_number(y, 0) then
    return refuse("division by the constant zero", "a divisor that is not zero")
  elseif y.has_known_range and y.low <= 0 and y.high >= 0 and not is_number(y) and not b.is_trusted then
    return refuse("the divisor can be 0: " .. text.format_briefly(y), "a divisor that is never 0",
      "max(1, ...) or an added constant makes the divisor larger than 0; select does not, since both of its branches "
        .. "are computed")
  elseif is_number(x) and is_number(y) then
    return b:number(x.value / y.value)
  elseif is_number(x, 0) then
    return x
  elseif is_number(y, 1) then
    return x
  elseif is_number(y) and (x.type == "real" or is_power_of_two(y.value)) then
    return M.mul(b, b:number(1 / y.value), x)
  elseif x.op == "neg" then
    return M.neg(b, M.div(b, x[1], y))
  end
  local low, high = -HUGE, HUGE
  if y.low > 0 or y.high < 0 then
    low, high = find_product_range(x, { low = 1 / y.high, high = 1 / y.low })
  end
  return b:make_result("div", { x, y }, not KEEPS_INTEGERS, low, high)
end

for name, row in next, functions.rows do
  M[name] = row.simplify
end

local function make_truth(b, op, ...)
  local has_known_range = true
  for _, argument in ipairs({ ... }) do
    has_known_range = has_known_range and argument.has_known_range or false
  end
  return b:make(op, { ... }, nil, { type = "truth", has_known_range = has_known_range })
end

-- Comparison -> a function that returns whether the ranges of two numbers make the comparison certainly true, and
-- whether they make it certainly false.
local COMPARISONS = {
  less = function(x, y) return x.high < y.low, x.low >= y.high or x == y end,
  less_equal = function(x, y) return x.high <= y.low or x == y, x.low > y.high end,
  equal = function(x, y) return x == y, x.high < y.low or x.low > y.high end,
}

for op, decide in next, COMPARISONS do
  M[op] = function(b, x, y)
    local is_certain, is_impossible = decide(x, y)
    return (is_certain or is_impossible) and b:truth(is_certain) or make_truth(b, op, x, y)
  end
end

function M.negate(b, x)
  if x.op == "truth" then
    return b:truth(not x.value)
  elseif x.op == "negate" then
    return x[1]
  end
  return make_truth(b, "negate", x)
end

-- Makes the operation `all` or `any`. An argument whose truth value is known either decides the result, or makes no
-- difference and is left out. decisive_value: the truth value that decides the result.
local function make_junction(op, decisive_value)
  return function(b, x, y)
    if x.op == "truth" then
      return x.value == decisive_value and x or y
    elseif y.op == "truth" then
      return y.value == decisive_value and y or x
    elseif x == y then
      return x
    end
    return make_truth(b, op, x, y)
  end
end

M.all, M.any = make_junction("all", false), make_junction("any", true)

function M.select(b, condition, x, y)
  if condition.op == "truth" then
    return condition.value and x or y
  elseif x == y then
    return x
  elseif condition.op == "negate" then
    return M.select(b, condition[1], y, x)
  elseif x.type == "truth" or y.type == "truth" then
    return refuse("select between truth values", "numbers", "all, any and negate combine truth values")
  end
  local is_integer = x.type == "integer" and y.type == "integer"
  return b:make("select", { condition, x, y }, nil, { type = is_integer and "integer" or "real",
    low = math.min(x.low, y.low), high = math.max(x.high, y.high),
    has_known_range = condition.has_known_range and x.has_known_range and y.has_known_range or false })
end

-- The bucket of a value: the number of edges that are at most the value; edges ascend.
function M.bucket(b, x, edges)
  if #edges > 1024 then
    return refuse("the edges of bucket are not a list of 1 to 1024 numbers", "{ 8, 12, 16, ... }, ascending")
  elseif x.type == "truth" then
    return refuse("bucket of a truth value", "a number")
  end
  local low, high = 0, 0
  for _, edge in ipairs(edges) do
    low, high = low + (edge <= x.low and 1 or 0), high + (edge <= x.high and 1 or 0)
  end
  if low == high then
    return b:number(low)
  end
  return b:make("bucket", { x }, table.concat(lists.map(edges, text.format_number), " "), { type = "integer",
    low = low + 0.0, high = high + 0.0, has_known_range = x.has_known_range, edges = edges })
end

return M
