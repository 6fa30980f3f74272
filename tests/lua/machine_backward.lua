-- The operations of a backward list, computed with numbers, for machine.lua. Each kind of entry has a function
-- operations.<kind>(machine, entry, repetition, get_buffer):
--   machine             a machine, `m` in this file
--   entry               an entry of the backward list, `b` in this file
--   repetition          the index of the block's repetition, from 0
--   get_buffer(value)   returns a value's buffer
-- A name that begins with d is a gradient: dkv is the gradient of kv.

local numbers = require("machine_numbers")

local ACTIVATIONS, check_distinct, visit_pairs = numbers.ACTIVATIONS, numbers.check_distinct, numbers.visit_pairs

-- Stores a value in an element of a buffer, or adds the value to the element.
local function write_value(to, i, value, is_added)
  to.data[i] = is_added and to.data[i] + value or value
end

local operations = {}

function operations.classify_grad(m, b, _, get_buffer)
  local op, x, to, classes = b.op, get_buffer(b.op.x), m:get_gradient_buffer(b.to), m.net.classes.count
  local p = op.class_table and op.class_table or m:find_output_parameter()
  local parameters, g = m.values[m.net][0][p], m.gradients[m.net][0][p]
  for i = 1, #to.data do
    to.data[i] = 0
  end
  for l = 0, m.labels - 1 do
    local row = m:find_labelled_row(op, x, l) * x.width
    for v = 1, classes do
      local d = m.objective[l * classes + v]
      if g.bias then
        g.bias[v] = g.bias[v] + d
      end
      for c = 1, x.width do
        local w = op.class_table and (v - 1) * x.width + c or (c - 1) * classes + v
        g.weight[w] = g.weight[w] + d * x.data[row + c]
        to.data[row + c] = to.data[row + c] + d * parameters.weight[w]
      end
    end
  end
end

function operations.weight_grad(m, b, repetition, get_buffer)
  local x, dy, g = get_buffer(b.x), m:get_gradient_buffer(b.dy), m:get_gradient(b.op, repetition)
  for t = 0, dy.rows - 1 do
    for c = 1, dy.width do
      local d = dy.data[t * dy.width + c]
      if g.bias then
        g.bias[c] = g.bias[c] + d
      end
      for k = 1, x.width do
        local w = (k - 1) * dy.width + c
        g.weight[w] = g.weight[w] + x.data[t * x.width + k] * d
      end
    end
  end
end

function operations.input_grad(m, b, repetition, get_buffer)
  local dy, to, p = m:get_gradient_buffer(b.dy), m:get_gradient_buffer(b.to), m:get_parameter(b.op, repetition)
  local relu_output = b.rectified_value and get_buffer(b.rectified_value).data
  check_distinct(b, dy, to)
  for t = 0, dy.rows - 1 do
    for k = 1, to.width do
      local sum, i = 0, t * to.width + k
      for c = 1, dy.width do
        sum = sum + dy.data[t * dy.width + c] * p.weight[(k - 1) * dy.width + c]
      end
      write_value(to, i, (not relu_output or relu_output[i] > 0) and sum or 0, b.is_added)
    end
  end
end

function operations.relu_grad(m, b, _, get_buffer)
  local y, dy, to = get_buffer(b.op.out).data, m:get_gradient_buffer(b.dy), m:get_gradient_buffer(b.to)
  for i = 1, #y do
    to.data[i] = y[i] > 0 and dy.data[i] or 0
  end
end

function operations.activation_grad(m, b, _, get_buffer)
  local x, dy, to = get_buffer(b.op.x).data, m:get_gradient_buffer(b.dy), m:get_gradient_buffer(b.to)
  for i = 1, #x do
    to.data[i] = dy.data[i] * select(2, ACTIVATIONS[b.op.activation](x[i]))
  end
end

function operations.gate_grad(m, b, _, get_buffer)
  local x, dy, to = get_buffer(b.op.x).data, m:get_gradient_buffer(b.dy), m:get_gradient_buffer(b.to)
  check_distinct(b, dy, to)
  local C = dy.width
  for t = 0, dy.rows - 1 do
    for c = 1, C do
      local gate, up, d = 2 * t * C + c, 2 * t * C + C + c, dy.data[t * C + c]
      local value, slope = ACTIVATIONS[b.op.activation](x[gate])
      to.data[gate], to.data[up] = d * x[up] * slope, d * value
    end
  end
end

-- The sums of a row are computed before the row is written, since dy and the result may share a buffer.
function operations.norm_grad(m, b, repetition)
  local op, dy, to = b.op, m:get_gradient_buffer(b.dy), m:get_gradient_buffer(b.to)
  local p, g, C = m:get_parameter(op, repetition), m:get_gradient(op, repetition), dy.width
  local xhat = m:get_saved_buffer(op.scope, repetition, op.name .. "_xhat", op.out.width, op.out.stream).data
  local rstd = m:get_saved_buffer(op.scope, repetition, op.name .. "_rstd", { count = 1 }, op.out.stream).data
  for t = 0, dy.rows - 1 do
    local mean, dot_product = 0, 0
    for c = 1, C do
      local d, h = dy.data[t * C + c], xhat[t * C + c]
      g.scale[c] = g.scale[c] + d * h
      if g.offset then
        g.offset[c] = g.offset[c] + d
      end
      mean = mean + (op.norm == "layer" and d * p.scale[c] / C or 0)
      dot_product = dot_product + d * p.scale[c] * h / C
    end
    for c = 1, C do
      local i = t * C + c
      write_value(to, i, (dy.data[i] * p.scale[c] - mean - xhat[i] * dot_product) * rstd[t + 1], b.is_added)
    end
  end
  if b.dbranch then
    local dbranch, mask = m:get_gradient_buffer(b.dbranch),
      m:get_saved_buffer(op.scope, repetition, op.mask, op.out.width, op.out.stream).data
    check_distinct(b, dbranch, to)
    for i = 1, #mask do
      dbranch.data[i] = to.data[i] * mask[i]
    end
  end
end

function operations.dropout_grad(m, b, repetition)
  local op, dy, to = b.op, m:get_gradient_buffer(b.dy), m:get_gradient_buffer(b.to)
  local mask = m:get_saved_buffer(op.scope, repetition, op.mask, op.out.width, op.out.stream).data
  for i = 1, #mask do
    to.data[i] = dy.data[i] * mask[i]
  end
end

function operations.accumulate(m, b)
  local source_gradient, to = m:get_gradient_buffer(b.from), m:get_gradient_buffer(b.to)
  for i = 1, #to.data do
    to.data[i] = to.data[i] + source_gradient.data[i]
  end
end

function operations.copy(m, b)
  local source_gradient, to = m:get_gradient_buffer(b.from), m:get_gradient_buffer(b.to)
  table.move(source_gradient.data, 1, #source_gradient.data, 1, to.data)
end

-- Sets all elements of a buffer to 0; returns the buffer.
local function clear_buffer(buffer)
  for i = 1, #buffer.data do
    buffer.data[i] = 0
  end
  return buffer
end

function operations.clear(m, b)
  clear_buffer(m:get_gradient_buffer(b.to))
end

function operations.attention_grad(m, b, repetition, get_buffer)
  local op, dy = b.op, m:get_gradient_buffer(b.dy)
  local q, kv, saved_weights = get_buffer(op.q), get_buffer(op.kv), m.weights[op.out][repetition]
  local weights, mask = saved_weights.softmax, saved_weights.mask
  local dq, dkv = clear_buffer(m:get_gradient_buffer(b.dq)),
    b.dkv ~= b.dq and clear_buffer(m:get_gradient_buffer(b.dkv)) or m:get_gradient_buffer(b.dq)
  local ddirection = b.dcontribution and clear_buffer(m:get_gradient_buffer(b.dcontribution))
  local D, C, sums = dy.width // op.family.heads, dy.width, {}
  local function compute_weight_gradient(h, i, j, value_offset)
    local sum = 0
    for d = 1, D do
      sum = sum + dy.data[i * C + h * D + d] * kv.data[value_offset + d]
    end
    return sum * mask[(h * q.rows + i) * kv.rows + j + 1]
  end
  visit_pairs(op, q, kv, function(h, i, j, _, _, value_offset)
    local row = h * q.rows + i
    sums[row] = (sums[row] or 0) + weights[row * kv.rows + j + 1] * compute_weight_gradient(h, i, j, value_offset)
  end)
  visit_pairs(op, q, kv, function(h, i, j, query_offset, key_offset, value_offset, direction_index)
    local pair = (h * q.rows + i) * kv.rows + j + 1
    local dlogit = weights[pair] * (compute_weight_gradient(h, i, j, value_offset) - sums[h * q.rows + i])
    for d = 1, D do
      write_value(dkv, value_offset + d, weights[pair] * mask[pair] * dy.data[i * C + h * D + d], true)
      write_value(dq, query_offset + d, dlogit * kv.data[key_offset + d] / math.sqrt(D), true)
      write_value(dkv, key_offset + d, dlogit * q.data[query_offset + d] / math.sqrt(D), true)
    end
    if direction_index then
      write_value(ddirection, direction_index, dlogit, true)
    end
  end)
end

function operations.block_grad(m, b)
  local block = b.op.block
  for repetition = block.count * block.loops - 1, 0, -1 do
    m:run_backward(block, repetition)
  end
end

-- Dropout is applied to the gradient in place, for the next reader of the gradient.
function operations.place_grad(m, b, repetition)
  local op, dy = b.op, m:get_gradient_buffer(b.dy)
  local mask = op.dropout and m:get_saved_buffer(op.scope, repetition, op.mask, op.out.width, op.out.stream).data
  local g = op.p and m:get_gradient(op, repetition).weight
  for i = 1, #dy.data do
    dy.data[i] = dy.data[i] * (mask and mask[i] or 1)
    if g then
      g[i] = g[i] + dy.data[i]
    end
  end
end

-- A linear embedding has no row for blank symbols, which are the first tokens.
function operations.embed_grad(m, b, repetition)
  local op, dy, g = b.op, m:get_gradient_buffer(b.dy), m:get_gradient(b.op, repetition)
  local blank_count = op.p.kind == "linear" and m.net.tokens.count - op.p.rows.count or 0
  local mask = op.dropout and m:get_saved_buffer(op.scope, repetition, op.mask, op.out.width, op.out.stream).data
  for t = 0, dy.rows - 1 do
    local row = m.tokens[op.stream.index + 1][t + 1] - blank_count
    for c = 1, dy.width do
      local element, d = row * dy.width + c, dy.data[t * dy.width + c] * (mask and mask[t * dy.width + c] or 1)
      if row >= 0 then
        g.weight[element] = g.weight[element] + (op.scale or 1) * d
      end
      if g.bias then
        g.bias[c] = g.bias[c] + d
      end
    end
  end
end

return operations
