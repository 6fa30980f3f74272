-- The operations of score expressions on plain numbers: what a spec computes its constants with.
--
-- Input: finite numbers. Output: a number, NaN or infinite where there is none; less, less_equal and equal: a boolean.

-- exp(x) - 1 and log(1 + x) without cancellation (Higham 2002, section 1.14.1).
local function expm1(x)
  local u = math.exp(x)
  return u == 1 and x or u - 1 == -1 and -1.0 or u == math.huge and u or (u - 1) * x / math.log(u)
end

local function log1p(x)
  local u = 1 + x
  return u == 1 and x or math.log(u) * x / (u - 1)
end

local function tanh(x)
  local e = expm1(-2 * math.abs(x))
  return (x < 0 and 1 or -1) * e / (e + 2)
end

return {
  add = function(a, b) return a + b end,
  sub = function(a, b) return a - b end,
  mul = function(a, b) return a * b end,
  div = function(a, b) return a / b end,
  neg = function(a) return -a end,
  mod = function(a, b) return b > 0 and a % b or 0 / 0 end,
  pow = function(a, b) return a ^ b end,
  sigmoid = function(x) return 1 / (1 + math.exp(-x)) end,
  less = function(a, b) return a < b end,
  less_equal = function(a, b) return a <= b end,
  equal = function(a, b) return a == b end,
  abs = math.abs, min = math.min, max = math.max, floor = math.floor, exp = math.exp, log = math.log, log1p = log1p,
  sqrt = math.sqrt, tanh = tanh, sin = math.sin, cos = math.cos,
}
