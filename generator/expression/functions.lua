-- The functions of numbers that a score may call: M.rows has a row for each, by name.
--
-- Fields of a row:
--   arguments  the number of arguments; false: 2 or more arguments, combined from the left
--   value      computes the function on plain numbers; NaN or infinite for invalid arguments
--   expected   words for the valid arguments
--   low, high  the bounds of the function's values. Functions with these fields have one argument and no `simplify`,
--              and ascend or are periodic
--   above      a lower bound: the argument must be larger
--   from       a lower bound: the argument must be equal or larger
--   is_periodic   true: the range of a call is always `low` to `high`, even if the range of the argument is narrow
--   simplify   simplify(b, x, y), for functions without `low`: returns the simplified node, or nil and a problem; b:
--              the builder (ir.lua)
--   gradient   gradient(b, node, d, wants) returns the gradients of the arguments; nil: all gradients are 0. d: the
--              gradient of the node; wants(argument): whether this argument's gradient is needed
--   is_commutative   true: the order of the arguments does not matter
--   is_cheap   true: the loop over pairs may compute the function. The values of a function that is not cheap are
--              stored in tables, unless they depend on the logit
--   word       the name of the function's value in generated code
--   vector     the name of the function of vectors in kernels, by default NAME_of
--   scalar     the name of the function of numbers in kernels, by default NAME_real
--   torch      the name in PyTorch, by default NAME; torch.lua has other texts for min, max and pow
-- A new function needs a row, and kernels in kernels/cpu/functions.h and kernels/cuda/functions.cu.

local text = require("expression.text")

local M = {}

local HUGE = math.huge
local TINY = 1e-30 -- keeps the logarithm in the gradient of pow finite at base 0; the gradient has the factor 0 there
local LIMIT_HINT = "max(...) limits the argument; select does not, since both of its branches are computed"

-- exp(x) - 1 and log(1 + x) without cancellation (Higham 2002, section 1.14.1).
local function compute_expm1(x)
  local u = math.exp(x)
  if u == 1 then
    return x
  elseif u - 1 == -1 then
    return -1.0
  end
  return u == HUGE and u or (u - 1) * x / math.log(u)
end

local function compute_log1p(x)
  local u = 1 + x
  return u == 1 and x or math.log(u) * x / (u - 1)
end

local function compute_log_sigmoid(x)
  return math.min(x, 0) - compute_log1p(math.exp(-math.abs(x)))
end

local function compute_tanh(x)
  local e = compute_expm1(-2 * math.abs(x))
  return (x < 0 and 1 or -1) * e / (e + 2)
end

-- erf(x) by a series without cancellation: all its terms have the sign of x (Abramowitz and Stegun, 7.1.6).
local function compute_erf(x)
  if math.abs(x) > 6 then
    return x > 0 and 1.0 or -1.0
  end
  local term, sum, n = 2 / math.sqrt(math.pi) * x * math.exp(-x * x), 0.0, 0
  while sum + term ~= sum do
    sum, n = sum + term, n + 1
    term = term * 2 * x * x / (2 * n + 1)
  end
  return sum
end

-- Returns nil and a problem.
function M.refuse(message, expected, hint)
  return nil, { what = message, expected = expected, hint = hint }
end

-- Whether a node is the number `value`; without `value`, whether the node is any number.
function M.is_number(node, value)
  return node.op == "number" and (value == nil or node.value == value)
end

local KEEPS_INTEGERS = true -- argument of make_result (ir.lua): integer arguments give an integer

-- Makes `simplify` of "min" or "max". It returns x or y itself if their ranges show that this argument is the result.
local function make_extreme(op)
  return function(b, x, y)
    local choose = math[op]
    local is_x_below, is_y_below = x.high <= y.low, y.high <= x.low
    if M.is_number(x) and M.is_number(y) then
      return b:number(choose(x.value, y.value))
    elseif x == y then
      return x
    elseif is_x_below or is_y_below then
      local is_x_result = op == "min" and is_x_below or op == "max" and is_y_below
      return is_x_result and x or y
    end
    return b:make_result(op, { x, y }, KEEPS_INTEGERS, choose(x.low, y.low), choose(x.high, y.high))
  end
end

-- The gradients of the two arguments of min or max, one of which is the result. is_first: a node that tells whether the
-- first argument is the result. d: the gradient of the result.
local function give_to_one(b, is_first, d)
  return b:apply("select", is_first, d, 0), b:apply("select", is_first, 0, d)
end

-- If both arguments are equal, the first argument gets the gradient.
local function derive_min(b, node, d)
  return give_to_one(b, b:apply("less_equal", node[1], node[2]), d)
end

local function derive_max(b, node, d)
  return give_to_one(b, b:apply("less_equal", node[2], node[1]), d)
end

local function simplify_abs(b, x)
  if M.is_number(x) then
    return b:number(math.abs(x.value))
  elseif x.low >= 0 then
    return x
  elseif x.high <= 0 then
    return b:apply("neg", x)
  elseif x.op == "neg" then
    return b:apply("abs", x[1])
  end
  return b:make_result("abs", { x }, KEEPS_INTEGERS, 0, math.max(-x.low, x.high))
end

local function simplify_floor(b, x)
  if M.is_number(x) then
    return b:number(math.floor(x.value))
  elseif x.type == "integer" then
    return x
  end
  local function floor(v)
    return math.abs(v) == HUGE and v or math.floor(v) + 0.0
  end
  return b:make("floor", { x }, nil,
    { type = "integer", low = floor(x.low), high = floor(x.high), has_known_range = x.has_known_range })
end

local function simplify_mod(b, x, n)
  if not M.is_number(n) or n.value <= 0 then
    return M.refuse("the second argument of mod is " .. text.format_briefly(n), "a positive constant")
  elseif M.is_number(x) then
    return b:number(x.value - n.value * math.floor(x.value / n.value))
  elseif x.low >= 0 and x.high < n.value then
    return x
  end
  local high = n.type == "integer" and x.type == "integer" and n.value - 1 or n.value
  return b:make_result("mod", { x, n }, KEEPS_INTEGERS, 0, high)
end

local constant_powers = {
  [0] = function(b) return b:number(1) end,
  [1] = function(_, x) return x end,
  [2] = function(b, x) return b:apply("mul", x, x) end,
  [3] = function(b, x) return b:apply("mul", b:apply("mul", x, x), x) end,
  [0.5] = function(b, x) return b:apply("sqrt", x) end,
  [-1] = function(b, x) return b:apply("div", 1, x) end,
}

local function simplify_pow(b, x, y)
  if M.is_number(x) and M.is_number(y) then
    local value = x.value ^ y.value
    if value ~= value or math.abs(value) == HUGE then
      return M.refuse(("pow(%s, %s) is not a number"):format(text.format_briefly(x), text.format_briefly(y)),
        "a finite power")
    end
    return b:number(value)
  elseif M.is_number(y) and constant_powers[y.value] then
    return constant_powers[y.value](b, x)
  elseif M.is_number(x) and x.value > 0 then
    return b:apply("exp", b:apply("mul", math.log(x.value), y))
  end
  local is_integer_power = M.is_number(y) and y.value == math.floor(y.value)
  local may_be_invalid = x.low < 0 and not is_integer_power or x.low <= 0 and y.low < 0 and x.high >= 0
  if not b.is_trusted and (M.is_number(x) or x.has_known_range and may_be_invalid) then
    return M.refuse(("the base of pow can be %s: %s"):format(text.format_number(x.low), text.format_briefly(x)),
      "a base above 0", LIMIT_HINT)
  end
  local low, high = -HUGE, HUGE
  if x.low >= 0 then
    low = 0.0
    if M.is_number(y) and y.value > 0 then
      low, high = x.low ^ y.value, x.high ^ y.value
    end
  end
  return b:make_result("pow", { x, y }, not KEEPS_INTEGERS, low, high)
end

local function derive_pow(b, node, d, wants)
  local x, y = node[1], node[2]
  local dx = wants(x) and b:apply("mul", b:apply("mul", d, y), b:apply("pow", x, b:apply("sub", y, 1)))
  local dy = wants(y) and b:apply("mul", b:apply("mul", d, node), b:apply("log", b:apply("max", x, TINY)))
  return dx, dy
end

M.rows = {
  abs = { arguments = 1, value = math.abs, simplify = simplify_abs, is_cheap = true, word = "size",
    -- The slope at 0 is 1.
    gradient = function(b, node, d) return b:apply("select", b:apply("less", node[1], 0), b:apply("neg", d), d) end },
  min = { arguments = false, value = math.min, simplify = make_extreme("min"), is_commutative = true, is_cheap = true,
    word = "smaller", vector = "minimum", scalar = "minimum_real", gradient = derive_min },
  max = { arguments = false, value = math.max, simplify = make_extreme("max"), is_commutative = true, is_cheap = true,
    word = "larger", vector = "maximum", scalar = "maximum_real", gradient = derive_max },
  floor = { arguments = 1, value = math.floor, simplify = simplify_floor, is_cheap = true, word = "whole" },
  mod = { arguments = 2, value = function(a, b) return b > 0 and a % b or 0 / 0 end, simplify = simplify_mod,
    expected = "a positive second argument", word = "remainder", torch = "remainder",
    gradient = function(_, _, d) return d end },
  exp = { arguments = 1, value = math.exp, low = 0, high = HUGE, word = "exponential",
    gradient = function(b, node, d) return b:apply("mul", d, node) end },
  log = { arguments = 1, value = math.log, low = -HUGE, high = HUGE, above = 0, word = "logarithm",
    gradient = function(b, node, d) return b:apply("div", d, node[1]) end },
  log1p = { arguments = 1, value = compute_log1p, low = -HUGE, high = HUGE, above = -1, word = "logarithm",
    gradient = function(b, node, d) return b:apply("div", d, b:apply("add", node[1], 1)) end },
  sqrt = { arguments = 1, value = math.sqrt, low = 0, high = HUGE, from = 0, word = "root",
    gradient = function(b, node, d) return b:apply("div", b:apply("mul", 0.5, d), node) end },
  tanh = { arguments = 1, value = compute_tanh, low = -1, high = 1, word = "tangent",
    gradient = function(b, node, d) return b:apply("mul", d, b:apply("sub", 1, b:apply("mul", node, node))) end },
  sigmoid = { arguments = 1, value = function(x) return 1 / (1 + math.exp(-x)) end, low = 0, high = 1, word = "gate",
    gradient = function(b, node, d) return b:apply("mul", b:apply("mul", d, node), b:apply("sub", 1, node)) end },
  log_sigmoid = { arguments = 1, value = compute_log_sigmoid, low = -HUGE, high = 0, word = "log_gate",
    torch = "nn.functional.logsigmoid",
    gradient = function(b, node, d) return b:apply("mul", d, b:apply("sigmoid", b:apply("neg", node[1]))) end },
  erf = { arguments = 1, value = compute_erf, low = -1, high = 1, word = "error_function",
    gradient = function(b, node, d)
      local density = b:apply("exp", b:apply("neg", b:apply("mul", node[1], node[1])))
      return b:apply("mul", b:apply("mul", d, 2 / math.sqrt(math.pi)), density)
    end },
  sin = { arguments = 1, value = math.sin, low = -1, high = 1, is_periodic = true, word = "sine",
    gradient = function(b, node, d) return b:apply("mul", d, b:apply("cos", node[1])) end },
  cos = { arguments = 1, value = math.cos, low = -1, high = 1, is_periodic = true, word = "cosine",
    gradient = function(b, node, d) return b:apply("neg", b:apply("mul", d, b:apply("sin", node[1]))) end },
  pow = { arguments = 2, value = function(a, b) return a ^ b end, simplify = simplify_pow, word = "power",
    gradient = derive_pow },
}

-- The problem with an argument outside the function's domain, or nil.
local function find_domain_problem(name, row, x)
  local limit = row.above or row.from
  local function is_outside(v)
    return row.from and v < limit or row.above and v <= limit
  end
  local bound = ("a number %s %g"):format(row.from and "from" or "above", limit)
  if is_outside(x.high) then
    return { what = ("%s of %s"):format(name, text.format_briefly(x)), expected = bound }
  elseif x.has_known_range and is_outside(x.low) then
    return { what = ("the argument of %s can be %s: %s"):format(name, text.format_number(x.low),
      text.format_briefly(x)), expected = bound, hint = LIMIT_HINT }
  end
end

local function is_nan(number)
  return number ~= number
end

-- Makes `simplify` of a function of one real from the function's row.
local function make_elementary(name, row)
  return function(b, x)
    local problem = (row.above or row.from) and not b.is_trusted and find_domain_problem(name, row, x)
    if problem then
      return nil, problem
    elseif M.is_number(x) then
      return b:number(row.value(x.value))
    elseif row.is_periodic then
      return b:make_result(name, { x }, not KEEPS_INTEGERS, row.low, row.high)
    end
    local low, high = row.value(x.low), row.value(x.high)
    low = is_nan(low) and row.low or math.max(row.low, low)
    high = is_nan(high) and row.high or math.min(row.high, high)
    return b:make_result(name, { x }, not KEEPS_INTEGERS, low, high)
  end
end

for name, row in next, M.rows do
  row.simplify = row.simplify or make_elementary(name, row)
  row.vector, row.scalar = row.vector or name .. "_of", row.scalar or name .. "_real"
end

-- Name -> the function or operator on plain numbers, with which a spec computes its constants.
M.plain = {
  add = function(a, b) return a + b end,
  sub = function(a, b) return a - b end,
  mul = function(a, b) return a * b end,
  div = function(a, b) return a / b end,
  neg = function(a) return -a end,
  less = function(a, b) return a < b end,
  less_equal = function(a, b) return a <= b end,
  equal = function(a, b) return a == b end,
}

for name, row in next, M.rows do
  M.plain[name] = row.value
end

return M
