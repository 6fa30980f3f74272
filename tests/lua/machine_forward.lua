-- The operations of a forward list, computed with numbers, for machine.lua. Each kind of operation has a function
-- forward.<kind>(machine, operation, repetition, get_buffer):
--   machine             a machine, `m` in this file
--   operation           an operation of the forward list, `op` in this file
--   repetition          the index of the block's repetition, from 0
--   get_buffer(value)   returns a value's buffer
-- Position vectors without parameters have the elements math.sin(t * c), for the token t and the channel c.

local numbers = require("machine_numbers")

local EPSILON = 1e-5
local ACTIVATIONS, check_distinct, visit_pairs = numbers.ACTIVATIONS, numbers.check_distinct, numbers.visit_pairs

local forward = {}

-- A linear embedding has no row for blank symbols, which are the first tokens.
function forward.embed(m, op, repetition, get_buffer)
  local out, p = get_buffer(op.out), m:get_parameter(op, repetition)
  local blank_count = op.p.kind == "linear" and m.net.tokens.count - op.p.rows.count or 0
  local mask = op.dropout and m:make_mask(op, repetition, op.out.width, op.out.stream)
  for t = 0, out.rows - 1 do
    local row = m.tokens[op.stream.index + 1][t + 1] - blank_count
    for c = 1, out.width do
      local sum = (row >= 0 and (op.scale or 1) * p.weight[row * out.width + c] or 0) + (p.bias and p.bias[c] or 0)
        + (op.encoding and math.sin(t * c) or 0)
      out.data[t * out.width + c] = sum * (mask and mask[t * out.width + c] or 1)
    end
  end
end

-- Applies an operation's dropout to its result.
local function apply_dropout(m, op, repetition, out)
  local mask = op.dropout and m:make_mask(op, repetition, op.out.width, op.out.stream) or {}
  for i = 1, #mask do
    out.data[i] = out.data[i] * mask[i]
  end
end

function forward.place(m, op, repetition, get_buffer)
  local x, out, vectors = get_buffer(op.x), get_buffer(op.out), op.p and m:get_parameter(op, repetition).weight
  for t = 0, out.rows - 1 do
    for c = 1, out.width do
      local i = t * out.width + c
      out.data[i] = x.data[i] + (vectors and vectors[i] or math.sin(t * c))
    end
  end
  apply_dropout(m, op, repetition, out)
end

function forward.product(m, op, repetition, get_buffer)
  local x, out, p = get_buffer(op.x), get_buffer(op.out), m:get_parameter(op, repetition)
  check_distinct(op, x, out)
  for t = 0, out.rows - 1 do
    for c = 1, out.width do
      local sum = p.bias and p.bias[c] or 0
      for k = 1, x.width do
        sum = sum + x.data[t * x.width + k] * p.weight[(k - 1) * out.width + c]
      end
      out.data[t * out.width + c] = op.has_relu and math.max(sum, 0) or sum
    end
  end
  apply_dropout(m, op, repetition, out)
end

function forward.activation(m, op, repetition, get_buffer)
  local x, out, f = get_buffer(op.x), get_buffer(op.out), ACTIVATIONS[op.activation]
  for i = 1, #x.data do
    out.data[i] = f(x.data[i])
  end
  apply_dropout(m, op, repetition, out)
end

function forward.gate(m, op, repetition, get_buffer)
  local x, out, f = get_buffer(op.x), get_buffer(op.out), ACTIVATIONS[op.activation]
  check_distinct(op, x, out)
  local C = out.width
  for t = 0, out.rows - 1 do
    for c = 1, C do
      out.data[t * C + c] = f(x.data[2 * t * C + c]) * x.data[2 * t * C + C + c]
    end
  end
  apply_dropout(m, op, repetition, out)
end

function forward.add(m, op, repetition, get_buffer)
  local residual, branch, out = get_buffer(op.residual), get_buffer(op.branch), get_buffer(op.sum or op.out)
  local mask = op.dropout and m:make_mask(op, repetition, op.out.width, op.out.stream)
  for i = 1, #out.data do
    out.data[i] = residual.data[i] + branch.data[i] * (mask and mask[i] or 1)
  end
end

-- Returns the mean of `width` numbers of a list; `first` is the index before the first number.
local function compute_mean(data, first, width)
  local sum = 0
  for c = first + 1, first + width do
    sum = sum + data[c]
  end
  return sum / width
end

-- Normalises the rows of x one after the other, so that x may be the data of out. x: a list of numbers; out: a buffer.
local function normalise(m, op, repetition, x, out)
  local p, C = m:get_parameter(op, repetition), out.width
  local xhat = m:get_saved_buffer(op.scope, repetition, op.name .. "_xhat", op.out.width, op.out.stream)
  local rstd = m:get_saved_buffer(op.scope, repetition, op.name .. "_rstd", { count = 1 }, op.out.stream)
  for t = 0, out.rows - 1 do
    local mean, mean_square = op.norm == "layer" and compute_mean(x, t * C, C) or 0, 0
    for c = t * C + 1, t * C + C do
      mean_square = mean_square + (x[c] - mean) ^ 2 / C
    end
    rstd.data[t + 1] = 1 / math.sqrt(mean_square + EPSILON)
    for c = 1, C do
      xhat.data[t * C + c] = (x[t * C + c] - mean) * rstd.data[t + 1]
      out.data[t * C + c] = xhat.data[t * C + c] * p.scale[c] + (p.offset and p.offset[c] or 0)
    end
  end
end

function forward.norm(m, op, repetition, get_buffer)
  normalise(m, op, repetition, get_buffer(op.x).data, get_buffer(op.out))
end

function forward.add_norm(m, op, repetition, get_buffer)
  local residual, branch, out = get_buffer(op.residual), get_buffer(op.branch), get_buffer(op.out)
  local mask = op.dropout and m:make_mask(op, repetition, op.out.width, op.out.stream)
  local sum = op.sum and get_buffer(op.sum).data or {}
  for i = 1, #out.data do
    sum[i] = residual.data[i] + branch.data[i] * (mask and mask[i] or 1)
  end
  normalise(m, op, repetition, sum, out)
end

-- Returns the attention weights of all pairs, [heads][queries][keys] as a list.
local function compute_weights(op, q, kv, direction)
  local family, D, logits, max_logits, sums = op.family, op.out.width.count // op.family.heads, {}, {}, {}
  visit_pairs(op, q, kv, function(h, i, j, query, key, _, direction_index)
    local logit = (direction_index and direction.data[direction_index] or 0) - (family.slope or 0) * math.abs(i - j)
    for d = 1, D do
      logit = logit + q.data[query + d] * kv.data[key + d] / math.sqrt(D)
    end
    local row = (h * q.rows + i) * kv.rows
    logits[row + j + 1] = family.causal and j > i and -math.huge or logit
    max_logits[row] = math.max(max_logits[row] or -math.huge, logits[row + j + 1])
  end)
  local weights = {}
  for pair, logit in ipairs(logits) do
    local row = (pair - 1) // kv.rows * kv.rows
    weights[pair] = math.exp(logit - max_logits[row])
    sums[row] = (sums[row] or 0) + weights[pair]
  end
  for pair = 1, #weights do
    weights[pair] = weights[pair] / sums[(pair - 1) // kv.rows * kv.rows]
  end
  return weights
end

function forward.attention(m, op, repetition, get_buffer)
  local q, kv, out = get_buffer(op.q), get_buffer(op.kv), get_buffer(op.out)
  check_distinct(op, q, out)
  check_distinct(op, kv, out)
  local weights = compute_weights(op, q, kv, op.contribution and get_buffer(op.contribution))
  local D, C = out.width // op.family.heads, out.width
  m.weights[op.out] = m.weights[op.out] or {}
  local mask = m:make_weights_mask(op, repetition, #weights)
  m.weights[op.out][m.is_training and repetition or 0] = { softmax = weights, mask = mask }
  for i = 1, #out.data do
    out.data[i] = 0
  end
  visit_pairs(op, q, kv, function(h, i, j, _, _, value)
    local pair = (h * q.rows + i) * kv.rows + j + 1
    local weight = weights[pair] * mask[pair]
    for d = 1, D do
      out.data[i * C + h * D + d] = out.data[i * C + h * D + d] + weight * kv.data[value + d]
    end
  end)
end

function forward.block(m, op)
  local block = op.block
  for repetition = 0, block.count * block.loops - 1 do
    m:run_forward(block, repetition)
  end
end

-- Computes the logits of the labelled tokens, [labels][classes] as a list.
function forward.classify(m, op, _, get_buffer)
  local x, classes = get_buffer(op.x), m.net.classes.count
  local p = op.class_table and op.class_table or m:find_output_parameter()
  local parameters = m.values[m.net][0][p]
  m.logits = {}
  for l = 0, m.labels - 1 do
    for v = 1, classes do
      local sum = parameters.bias and parameters.bias[v] or 0
      for c = 1, x.width do
        local weight = parameters.weight[op.class_table and (v - 1) * x.width + c or (c - 1) * classes + v]
        sum = sum + x.data[m:find_labelled_row(op, x, l) * x.width + c] * weight
      end
      m.logits[l * classes + v] = sum
    end
  end
end

return forward
