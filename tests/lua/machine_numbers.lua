-- Functions of one number, and loops over pairs of tokens, for the operations of machine.lua.

local M = {}

local function sigmoid(x)
  return 1 / (1 + math.exp(-x))
end

-- The distribution function of the normal distribution: Abramowitz and Stegun 26.2.11.
local function compute_normal(x)
  if math.abs(x) > 8 then
    return x > 0 and 1 or 0
  end
  local term, sum, n = x, x, 1
  while math.abs(term) > 1e-17 * math.abs(sum) do
    term, n = term * x * x / (2 * n + 1), n + 1
    sum = sum + term
  end
  return 0.5 + sum * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
end

local ROOT = math.sqrt(2 / math.pi)

local function compute_tanh_argument(x)
  return ROOT * (x + 0.044715 * x ^ 3)
end

-- Activations by name: functions of x that return the value and the slope.
M.ACTIVATIONS = {
  relu = function(x)
    return x > 0 and x or 0, x > 0 and 1 or 0
  end,
  gelu = function(x)
    return x * compute_normal(x), compute_normal(x) + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
  end,
  gelu_tanh = function(x)
    local t = 2 * sigmoid(2 * compute_tanh_argument(x)) - 1
    return x * (1 + t) / 2, (1 + t) / 2 + x * (1 - t * t) * ROOT * (1 + 3 * 0.044715 * x * x) / 2
  end,
  silu = function(x)
    local s = sigmoid(x)
    return x * s, s + x * s * (1 - s)
  end,
}

-- Stops with an error if an operation would write the buffer that it reads: kernels cannot do it in place.
function M.check_distinct(op, from, to)
  if from == to then
    error(("%s reads and writes %s"):format(op.kind, from.name), 0)
  end
end

-- Returns the first columns of keys and values in the rows of their buffer; queries begin at column 0.
local function find_columns(op)
  local C = op.out.width.count
  return op.q == op.kv and { key = C, value = 2 * C } or { key = 0, value = C }
end

-- Calls f(h, i, j, query, key, value, direction) for every head h, query i and key j, from 0. query, key, value:
-- offsets in the buffers q and kv, so the first number of the query has the index query + 1; direction: the index of
-- the pair's direction in its buffer, or nil.
function M.visit_pairs(op, q, kv, f)
  local family, column, C = op.family, find_columns(op), op.out.width.count
  local D = C // family.heads
  for h = 0, family.heads - 1 do
    for i = 0, q.rows - 1 do
      for j = 0, kv.rows - 1 do
        local key = j * kv.width + h * D
        f(h, i, j, i * q.width + h * D, key + column.key, key + column.value,
          op.contribution and j ~= i and i * op.contribution.width.count + 2 * h + (j > i and 1 or 2) or nil)
      end
    end
  end
end

return M
