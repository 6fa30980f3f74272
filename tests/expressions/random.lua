-- Random score formulas: the text of a spec's function, its parameters, and its value in plain Lua.
--
-- M.make_case(number), which determines everything, returns { number, positions, body }: a reading of distances, and
-- the text of the formula. M.make_evaluator(case) returns a function of x that runs this text with Lua's own arithmetic
-- and functions, without code of the generator. Formulas are continuous in logits and parameters: logarithms and roots
-- have positive arguments, and only positions have steps.

local M = {}

local READINGS = { "index", "drawn", "difference", "clamped" }

-- A writer of text: random(n), a random number from 1 to n; reads_score, whether the text may read x.score; scalars and
-- tables, names of parameters; reads_positions, whether it may read x.query and x.key. Each method writes one kind of
-- expression.
local Source = {}
Source.__index = Source

function Source:pick(list)
  return list[self.random(#list)]
end

function Source:write_number()
  return ("%.3g"):format((self.random(400) - 200) / 100 + 0.005)
end

-- An integer expression of positions, head and layer.
function Source:write_integer(depth)
  local leaves = { "x.query_index", "x.key_index", "x.head", "x.layer", "x.distance", "x.distance",
    "(x.key_index - x.query_index)", "(x.query_index + x.key_index)" }
  if self.reads_positions then
    leaves[#leaves + 1] = "x.query"
    leaves[#leaves + 1] = "x.key"
  end
  if depth <= 0 then
    return self:pick(leaves)
  end
  local forms = {
    function() return ("(%s + %s)"):format(self:write_integer(depth - 1), self:write_integer(depth - 1)) end,
    function() return ("(%s - %s)"):format(self:write_integer(depth - 1), self:write_integer(depth - 1)) end,
    function() return ("(%d * %s)"):format(self.random(3), self:write_integer(depth - 1)) end,
    function() return ("abs(%s)"):format(self:write_integer(depth - 1)) end,
    function() return ("mod(%s, %d)"):format(self:write_integer(depth - 1), 1 + self.random(6)) end,
    function()
      return ("%s(%s, %d)"):format(self:pick({ "min", "max" }), self:write_integer(depth - 1), self.random(5))
    end,
    function() return ("bucket(%s, { -2, 1, 4, 6.5 })"):format(self:write_integer(depth - 1)) end,
    function() return ("floor(%s / 3 + 0.1)"):format(self:write_integer(depth - 1)) end,
    function()
      return ("select(%s, %s, %d)"):format(self:write_condition(depth - 1), self:write_integer(depth - 1),
        self.random(4))
    end,
    function() return self:pick(leaves) end,
  }
  return self:pick(forms)()
end

function Source:write_condition(depth)
  local forms = {
    function() return ("less(%s, %s)"):format(self:write_integer(depth - 1), self:write_integer(depth - 1)) end,
    function() return ("less_equal(%s, %d)"):format(self:write_integer(depth - 1), self.random(5)) end,
    function() return ("equal(%s, %d)"):format(self:write_integer(depth - 1), self.random(3)) end,
    function() return ("negate(%s)"):format(self:write_condition(depth - 1)) end,
    function() return ("all(%s, %s)"):format(self:write_condition(depth - 1), self:write_condition(depth - 1)) end,
    function() return ("any(%s, %s)"):format(self:write_condition(depth - 1), self:write_condition(depth - 1)) end,
  }
  return forms[depth <= 0 and self.random(3) or self.random(#forms)]()
end

function Source:write_positive(depth)
  return self:pick({
    function() return ("(abs(%s) + 0.5)"):format(self:write_real(depth - 1)) end,
    function() return ("exp(0.3 * tanh(%s))"):format(self:write_real(depth - 1)) end,
    function() return ("(1.2 + sin(%s))"):format(self:write_real(depth - 1)) end,
  })()
end

function Source:write_leaf()
  return self:pick({
    function() return self:write_number() end,
    function() return ("0.1 * %s"):format(self:write_integer(1)) end,
    function() return "x." .. self:pick(self.scalars) end,
    function() return "x." .. self:pick(self.scalars) end,
    function() return ("lookup(x.%s, %s)"):format(self:pick(self.tables), self:write_integer(1)) end,
    function() return self.reads_score and "x.score" or self:write_number() end,
  })()
end

function Source:write_sum(depth)
  local reads_score, count = self.reads_score, 1 + self.random(4)
  self.reads_score = self.reads_score and self.random(3) == 1
  local term = ("lookup(x.%s, m) * %s(%s + 0.2 * m)"):format(self.tables[2], self:pick({ "sin", "tanh" }),
    self:write_real(depth - 1))
  self.reads_score = reads_score
  return ("sum(%d, function(m) return %s end)"):format(count, term)
end

function Source:write_real(depth)
  if depth <= 0 then
    return self:write_leaf()
  end
  local function write_operand()
    return self:write_real(depth - 1)
  end
  return self:pick({
    function() return ("(%s + %s)"):format(write_operand(), write_operand()) end,
    function() return ("(%s - %s)"):format(write_operand(), write_operand()) end,
    function() return ("%s * %s"):format(write_operand(), self:write_leaf()) end,
    function() return ("(%s * %s)"):format(write_operand(), write_operand()) end,
    function() return ("(%s) / %s"):format(write_operand(), self:write_positive(depth)) end,
    function() return ("-%s"):format(self:write_positive(depth)) end,
    function() return ("%s(%s)"):format(self:pick({ "tanh", "sigmoid", "log_sigmoid", "erf", "sin", "cos",
      "abs" }), write_operand()) end,
    function() return ("%s(%s)"):format(self:pick({ "log", "sqrt", "log1p" }), self:write_positive(depth)) end,
    function() return ("%s(%s, %s)"):format(self:pick({ "min", "max" }), write_operand(), write_operand()) end,
    function()
      return ("pow(%s, %s)"):format(self:write_positive(depth), self:pick({ "2", "0.5", "1.7", "tanh(x.b)" }))
    end,
    function() return ("select(%s, %s, %s)"):format(self:write_condition(1), write_operand(), write_operand()) end,
    function() return self:write_sum(depth) end,
    function() return self:write_leaf() end,
  })()
end

-- Parameters that a formula may read; generate.lua gives them values.
M.PARAMETERS = {
  a = { per = "head" }, b = { per = "model" }, c = { per = "layer" }, d = { per = "layer_head" },
  k = { per = "head", values = { 0.75, -1.25 } },
  t = { per = "head", first = -3, size = 7, outside = "clip" },
  u = { per = "model", first = 0, size = 5, outside = 0.5 },
  w = { per = "layer_head", first = 0, size = 3, outside = "clip" },
}

-- Multiply-with-carry on 32 bits (Marsaglia): Lua's own generator may differ between versions.
local function make_generator(seed)
  local z, w = 362436069 + seed * 2654435761 % 4294967296, 521288629 + seed
  return function(max)
    z = 36969 * (z & 65535) + (z >> 16 & 65535)
    w = 18000 * (w & 65535) + (w >> 16 & 65535)
    return ((z << 16) + w) % 4294967296 % max + 1
  end
end

function M.make_case(number)
  local random = make_generator(number)
  for _ = 1, 10 do
    random(2)
  end
  local positions = READINGS[number % 4 + 1]
  local source = setmetatable({ random = random, reads_score = true, scalars = { "a", "b", "c", "d", "k" },
    tables = { "t", "u", "w" }, reads_positions = positions == "index" or positions == "difference" }, Source)
  local body = random(3) == 1 and ("(%s) * x.score + %s"):format(source:write_real(2), source:write_real(3))
    or ("x.score + %s"):format(source:write_real(3 + random(2) - 1))
  return { number = number, positions = positions, body = body }
end

-- Forms that random formulas rarely have: lookups whose index differs between pairs inside sums, shared parts of heads
-- inside sums, tables that both pairs and other tables read, differences as indices, no table at all; graphs.
local SPECIAL_FORMULAS = {
  "x.score + sum(3, function(m) return lookup(x.t, x.distance + m) * x.a end)",
  "x.score + sum(2, function(m) return lookup(x.u, mod(x.key_index + 2 * m, 5)) * sin(x.a * x.query_index + m) end)",
  "x.score + sum(2, function(m) return lookup(x.w, mod(x.distance + x.head + m, 3)) * cos(x.b * x.distance) end)",
  "x.score + x.d * sum(2, function(m) return sum(2, function(n) return lookup(x.u, mod(x.distance + m + n, 5)) "
    .. "* sin(x.b + 0.3 * m + 0.2 * n * x.key_index) end) end)",
  "x.score + sum(5, function(m) return lookup(x.w, mod(m, 3)) * max(0, lookup(x.u, m) * sin(x.b * x.distance "
    .. "+ 0.1 * x.query_index) + 0.1 * m) end)",
  "x.score + x.d * tanh(sum(5, function(m) return lookup(x.u, m) * sin(0.02 * x.c * x.distance * x.key_index "
    .. "+ m) end))",
  "x.score + exp(x.a) * tanh(exp(0.3 * x.b) * x.query_index) * sin(x.b * x.key_index) * cos(x.c * x.distance)",
  "x.score + x.d * sin(x.b * x.query_index) * sin(0.1 * x.c * x.query_index * x.key_index) "
    .. "+ x.a * tanh(x.b * x.query_index) * cos(x.query_index * x.key_index)",
  "x.score * tanh(x.b * x.query_index) + sin(tanh(x.b * x.query_index) * x.key_index)",
  "x.score * sin(x.a * x.key_index) + cos(sin(x.a * x.key_index) + x.query_index)",
  "x.score * sin(x.c * x.distance) + tanh(sin(x.c * x.distance) * x.key_index)",
  "max(x.score, exp(x.a)) * exp(x.b) + tanh(0.1 * exp(x.a) * x.query_index * x.key_index) * tanh(exp(x.b) "
    .. "* x.key_index)",
  "x.score + x.b * lookup(x.u, x.head - (x.layer - 2)) + lookup(x.u, mod(x.key_index, 2) + 3 - (x.head - x.layer))",
  "sin(x.score) + x.score * x.score",
  -- Graphs that are large as trees: 256 factors, shared parts after a minus, a chain that is too long for a line.
  "(function() local s = 1 + 0.004 * x.score for i = 1, 8 do s = s * s end return s end)()",
  "(function() local s = x.score for i = 1, 9 do s = s + 0.1 * sin(s + 0.02 * x.b * x.distance) end return s end)()",
  "x.score + (function() local s = 0.1 * x.score + x.a for i = 1, 12 do s = -(sin(s) * cos(0.5 "
    .. "* s)) end return s end)()",
  "x.score + (function() local s = x.a for i = 1, 12 do s = -(s * cos(0.5 * s + 0.02 "
    .. "* x.distance)) end return s end)()",
  "(function() local s = x.score for i = 1, 60 do s = 0.97 * sin(s) + 0.01 * x.d * i end return s end)()",
}

-- Each special formula with every reading of distances.
function M.list_special_cases()
  local list = {}
  for i, body in ipairs(SPECIAL_FORMULAS) do
    for k, reading in ipairs(READINGS) do
      list[#list + 1] = { number = 10000 + 10 * i + k, positions = reading, body = body }
    end
  end
  return list
end

-- ---- plain Lua ----

-- The entry of a table at an index, which is clipped to the table; or the number `outside`, if the table has one.
local function look_up(table, index)
  local first, last = table.first, table.first + table.size - 1
  if type(table.outside) == "number" and (index < first or index > last) then
    return table.outside
  end
  return table.value(math.max(first, math.min(last, index)) - first)
end

-- Nodes and weights of Gauss and Legendre for five points on [-1, 1].
local FIVE_POINTS = { { 0, 128 / 225 }, { 0.5384693101056831, 0.4786286704993665 },
  { -0.5384693101056831, 0.4786286704993665 }, { 0.9061798459386640, 0.2369268850561891 },
  { -0.9061798459386640, 0.2369268850561891 } }

-- erf(v) as an integral from 0 to v, in 64 pieces.
local function erf(v)
  local half, sum = math.max(-6, math.min(6, v)) / 128, 0
  for piece = 1, 127, 2 do
    for _, point in ipairs(FIVE_POINTS) do
      sum = sum + point[2] * math.exp(-(half * (piece + point[1])) ^ 2)
    end
  end
  return 2 / math.sqrt(math.pi) * half * sum
end

local LUA_FUNCTIONS = {
  erf = erf,
  abs = math.abs, min = math.min, max = math.max, floor = math.floor, exp = math.exp, log = math.log,
  sqrt = math.sqrt, sin = math.sin, cos = math.cos,
  mod = function(a, n) return a - n * math.floor(a / n) end,
  pow = function(a, b) return a ^ b end,
  log1p = function(v) return math.log(1 + v) end,
  tanh = function(v) return 1 - 2 / (math.exp(2 * v) + 1) end,
  sigmoid = function(v) return 1 / (1 + math.exp(-v)) end,
  log_sigmoid = function(v) return math.min(v, 0) - math.log(1 + math.exp(-math.abs(v))) end,
  less = function(a, b) return a < b end,
  less_equal = function(a, b) return a <= b end,
  equal = function(a, b) return a == b end,
  all = function(a, b) return a and b end,
  any = function(a, b) return a or b end,
  negate = function(a) return not a end,
  select = function(c, a, b) if c then return a end return b end,
  lookup = look_up,
  bucket = function(v, edges)
    local count = 0
    for _, edge in ipairs(edges) do
      count = count + (edge <= v and 1 or 0)
    end
    return count
  end,
  sum = function(count, term)
    local total = 0
    for m = 0, count - 1 do
      total = total + term(m)
    end
    return total
  end,
}

function M.make_evaluator(case)
  return assert(load("local x = ... return " .. case.body, "=case " .. case.number, "t", LUA_FUNCTIONS))
end

return M
