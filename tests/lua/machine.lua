-- Runs a network's forward and backward lists on numbers, over buffers by name, as generated code does: kept buffers
-- of each repetition, everything else once, in place wherever the lists say so.
--
-- Input: a network (network/builder.lua). What stands in a buffer is what was written last, whoever wrote it; a buffer
-- is full of NaN until then, and has the width of its first owner. An operation that could not be done in place on a
-- real machine (a product into its own input) is an error here.

local buffers = require("network.buffers")
local lists = require("network.lists")

local M = {}

local EPSILON = 1e-5

-- --- functions of one number --------------------------------------------------------------------------------------

local function sigmoid(x)
  return 1 / (1 + math.exp(-x))
end

-- The normal distribution: Abramowitz and Stegun 26.2.11.
local function phi(x)
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

local function tanh_argument(x)
  return ROOT * (x + 0.044715 * x ^ 3)
end

-- name -> value, slope.
local ACTIVATIONS = {
  relu = function(x)
    return x > 0 and x or 0, x > 0 and 1 or 0
  end,
  gelu = function(x)
    return x * phi(x), phi(x) + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
  end,
  gelu_tanh = function(x)
    local t = 2 * sigmoid(2 * tanh_argument(x)) - 1
    return x * (1 + t) / 2, (1 + t) / 2 + x * (1 - t * t) * ROOT * (1 + 3 * 0.044715 * x * x) / 2
  end,
  silu = function(x)
    local s = sigmoid(x)
    return x * s, s + x * s * (1 - s)
  end,
}

-- --- where things lie ---------------------------------------------------------------------------------------------

local Machine = {}
Machine.__index = Machine

local function new_buffer(name, width, rows)
  local data = {}
  for i = 1, rows * width do
    data[i] = 0 / 0
  end
  return { name = name, width = width, rows = rows, data = data }
end

function Machine:rows_of(stream)
  return self.rows[stream.index + 1]
end

-- A buffer of the given set, made where there is none.
function Machine:buffer(set, name, width, stream)
  local b = set[name]
  if not b then
    b = new_buffer(name, width.count, self:rows_of(stream))
    set[name] = b
  elseif b.width ~= width.count or b.rows ~= self:rows_of(stream) then
    error(("the buffer %s is [%d][%d], and [%d][%d] is needed"):format(name, b.rows, b.width, self:rows_of(stream),
      width.count), 0)
  end
  return b
end

function Machine:reads_back(scope, value)
  return self.places.scopes[scope].read[value] or false
end

-- The input of a repetition of a block; behind the last one, its result.
function Machine:home(block, use)
  local kept = self.training and self:reads_back(block, block.entry)
  if use == block.count * block.loops then
    return self:place(self.net, block.result)
  elseif kept and (use > 0 or block.first.carried) then
    return self:buffer(self.kept[block][use], "input", block.entry.width, block.entry.stream)
  elseif use == 0 and not block.first.carried then
    return self:place(self.net, block.first)
  end
  return self:buffer(self.workspace, buffers.home(block.entry.stream), block.entry.width, block.entry.stream)
end

-- The buffer of a value; use: the repetition.
function Machine:place(scope, value, use)
  if value.external then
    return self:place(self.net, value.external)
  elseif scope == self.net then
    if value.carried then
      local block = value.carried.block
      return block and self.training and self:reads_back(block, block.entry) and self:home(block, 0)
        or self:buffer(self.workspace, buffers.home(value.stream), value.width, value.stream)
    end
    return self:buffer(self.workspace, value.name, value.width, value.stream)
  elseif value == scope.entry then
    return self:home(scope, use)
  elseif value == scope.last then
    return self:home(scope, use + 1)
  end
  local set = self:reads_back(scope, value) and self.kept[scope][self.training and use or 0] or self.workspace
  return self:buffer(set, value.name, value.width, value.stream)
end

-- What a norm saves, and masks.
function Machine:saved(scope, use, name, width, stream)
  local set = scope == self.net and self.workspace or self.kept[scope][self.training and use or 0]
  return self:buffer(set, name, width, stream)
end

function Machine:gradient(b)
  return self:buffer(self.workspace, b.name, b.width, b.stream)
end

local function apart(op, a, b)
  if a == b then
    error(("%s reads and writes %s"):format(op.kind, a.name), 0)
  end
end

-- --- parameters ---------------------------------------------------------------------------------------------------

-- The numbers of a scope's parameters by member; what facets learn is none of the lists' business.
local function numbers_of(scope, make)
  local set = {}
  for _, p in ipairs(scope.parameters) do
    if p.kind == "weight" then
      set[p] = { weight = make(p.rows.count * p.columns.count), bias = p.bias and make(p.columns.count) or nil }
    elseif p.kind == "norm" then
      set[p] = { scale = make(p.columns.count, 1), offset = p.norm == "layer" and make(p.columns.count) or nil }
    elseif p.kind == "table" then
      set[p] = { weight = make(p.rows.count * p.columns.count) }
    elseif p.kind == "output" then
      set[p] = { weight = make(p.rows.count * p.columns.count), bias = make(p.columns.count) }
    end
  end
  return set
end

-- scope -> by repetition, those of a loop once.
function Machine:parameters(make)
  local all = { [self.net] = { [0] = numbers_of(self.net, make) } }
  for _, block in ipairs(self.net.scopes) do
    all[block] = {}
    for i = 0, block.count - 1 do
      all[block][i] = numbers_of(block, make)
    end
  end
  return all
end

local function of_use(all, scope, use)
  return all[scope][scope.count and use % scope.count or 0]
end

function Machine:p(op, use)
  return of_use(self.values, op.scope, use)[op.p]
end

function Machine:g(op, use)
  return of_use(self.gradients, op.scope, use)[op.p]
end

function Machine:output_parameter()
  for _, p in ipairs(self.net.parameters) do
    if p.kind == "output" then
      return p
    end
  end
end

-- --- forward ------------------------------------------------------------------------------------------------------

-- The mask of a dropout at a use: 1 / (1 - rate) or 0; all ones where nothing is dropped.
function Machine:mask(op, use, width, stream)
  local to, rate = self:saved(op.scope, use, op.keep, width, stream), self.drops and op.dropout.rate or 0
  local key = ("%s %s %d"):format(op.scope.name, op.place, use)
  self.masks[key] = self.masks[key] or {}
  for i = 1, #to.data do
    self.masks[key][i] = self.masks[key][i] or self.random:below(1000) / 1000
    to.data[i] = self.masks[key][i] < rate and 0 or 1 / (1 - rate)
  end
  return to.data
end

local forward = {}

function forward.embed(m, op, use, at)
  local out, table_of = at(op.out), m:p(op, use).weight
  local mask = op.dropout and m:mask(op, use, op.out.width, op.out.stream)
  for t = 0, out.rows - 1 do
    for c = 1, out.width do
      local sum = op.scale * table_of[m.tokens[op.stream.index + 1][t + 1] * out.width + c]
        + (op.encoding and math.sin(t * c) or 0)
      out.data[t * out.width + c] = sum * (mask and mask[t * out.width + c] or 1)
    end
  end
end

function forward.product(m, op, use, at)
  local x, out, p = at(op.x), at(op.out), m:p(op, use)
  apart(op, x, out)
  for t = 0, out.rows - 1 do
    for c = 1, out.width do
      local sum = p.bias and p.bias[c] or 0
      for k = 1, x.width do
        sum = sum + x.data[t * x.width + k] * p.weight[(k - 1) * out.width + c]
      end
      out.data[t * out.width + c] = op.relu and math.max(sum, 0) or sum
    end
  end
end

function forward.activation(_, op, _, at)
  local x, out, f = at(op.x), at(op.out), ACTIVATIONS[op.activation]
  for i = 1, #x.data do
    out.data[i] = f(x.data[i])
  end
end

function forward.gate(_, op, _, at)
  local x, out, f = at(op.x), at(op.out), ACTIVATIONS[op.activation]
  apart(op, x, out)
  local C = out.width
  for t = 0, out.rows - 1 do
    for c = 1, C do
      out.data[t * C + c] = f(x.data[2 * t * C + c]) * x.data[2 * t * C + C + c]
    end
  end
end

function forward.add(m, op, use, at)
  local residual, branch, out = at(op.residual), at(op.branch), at(op.sum or op.out)
  local mask = op.dropout and m:mask(op, use, op.out.width, op.out.stream)
  for i = 1, #out.data do
    out.data[i] = residual.data[i] + branch.data[i] * (mask and mask[i] or 1)
  end
end

local function mean_of(data, first, width)
  local sum = 0
  for c = first + 1, first + width do
    sum = sum + data[c]
  end
  return sum / width
end

-- Row by row, so that out may be x.
local function normalise(m, op, use, x, out)
  local p, C = m:p(op, use), out.width
  local xhat = m:saved(op.scope, use, op.name .. "_xhat", op.out.width, op.out.stream)
  local rstd = m:saved(op.scope, use, op.name .. "_rstd", { count = 1 }, op.out.stream)
  for t = 0, out.rows - 1 do
    local mean, square = op.norm == "layer" and mean_of(x, t * C, C) or 0, 0
    for c = t * C + 1, t * C + C do
      square = square + (x[c] - mean) ^ 2 / C
    end
    rstd.data[t + 1] = 1 / math.sqrt(square + EPSILON)
    for c = 1, C do
      xhat.data[t * C + c] = (x[t * C + c] - mean) * rstd.data[t + 1]
      out.data[t * C + c] = xhat.data[t * C + c] * p.scale[c] + (p.offset and p.offset[c] or 0)
    end
  end
end

function forward.norm(m, op, use, at)
  normalise(m, op, use, at(op.x).data, at(op.out))
end

function forward.add_norm(m, op, use, at)
  local residual, branch, out = at(op.residual), at(op.branch), at(op.out)
  local mask = op.dropout and m:mask(op, use, op.out.width, op.out.stream)
  local sum = op.sum and at(op.sum).data or {}
  for i = 1, #out.data do
    sum[i] = residual.data[i] + branch.data[i] * (mask and mask[i] or 1)
  end
  normalise(m, op, use, sum, out)
end

-- Where queries, keys and values begin in their rows.
local function packing(op)
  local C = op.out.width.count
  return op.q == op.kv and { key = C, value = 2 * C } or { key = 0, value = C }
end

-- f(h, i, j, a query's, a key's and a value's first index less one, the direction's index or nil) for every pair.
local function each_pair(op, q, kv, f)
  local family, at, C = op.family, packing(op), op.out.width.count
  local D = C // family.heads
  for h = 0, family.heads - 1 do
    for i = 0, q.rows - 1 do
      for j = 0, kv.rows - 1 do
        local key = j * kv.width + h * D
        f(h, i, j, i * q.width + h * D, key + at.key, key + at.value,
          op.direction and j ~= i and i * op.direction.width.count + 2 * h + (j > i and 1 or 2) or nil)
      end
    end
  end
end

-- weights[h][i][j] of all pairs.
local function attend_weights(op, q, kv, direction)
  local family, D, logits, most, sums = op.family, op.out.width.count // op.family.heads, {}, {}, {}
  each_pair(op, q, kv, function(h, i, j, query, key, _, way)
    local logit = (way and direction.data[way] or 0) - (family.slope or 0) * math.abs(i - j)
    for d = 1, D do
      logit = logit + q.data[query + d] * kv.data[key + d] / math.sqrt(D)
    end
    local row = (h * q.rows + i) * kv.rows
    logits[row + j + 1] = family.causal and j > i and -math.huge or logit
    most[row] = math.max(most[row] or -math.huge, logits[row + j + 1])
  end)
  local weights = {}
  for at, logit in ipairs(logits) do
    local row = (at - 1) // kv.rows * kv.rows
    weights[at] = math.exp(logit - most[row])
    sums[row] = (sums[row] or 0) + weights[at]
  end
  for at = 1, #weights do
    weights[at] = weights[at] / sums[(at - 1) // kv.rows * kv.rows]
  end
  return weights
end

function forward.attention(m, op, use, at)
  local q, kv, out = at(op.q), at(op.kv), at(op.out)
  apart(op, q, out)
  apart(op, kv, out)
  local weights = attend_weights(op, q, kv, op.direction and at(op.direction))
  local D, C = out.width // op.family.heads, out.width
  m.weights[op.out] = m.weights[op.out] or {}
  m.weights[op.out][m.training and use or 0] = weights
  for i = 1, #out.data do
    out.data[i] = 0
  end
  each_pair(op, q, kv, function(h, i, j, _, _, value)
    local weight = weights[(h * q.rows + i) * kv.rows + j + 1]
    for d = 1, D do
      out.data[i * C + h * D + d] = out.data[i * C + h * D + d] + weight * kv.data[value + d]
    end
  end)
end

function forward.block(m, op)
  local block = op.block
  for use = 0, block.count * block.loops - 1 do
    m:run_forward(block, use)
  end
end

-- Logits of the last tokens.
function forward.classify(m, op, _, at)
  local x, classes = at(op.x), m.net.classes.count
  local p = op.tied and op.tied or m:output_parameter()
  local of = m.values[m.net][0][p]
  m.logits = {}
  for l = 0, m.labels - 1 do
    for v = 1, classes do
      local sum = of.bias and of.bias[v] or 0
      for c = 1, x.width do
        local weight = op.tied and of.weight[(v - 1) * x.width + c] or of.weight[(c - 1) * classes + v]
        sum = sum + x.data[(x.rows - m.labels + l) * x.width + c] * weight
      end
      m.logits[l * classes + v] = sum
    end
  end
end

function Machine:run_forward(scope, use)
  for _, op in ipairs(self.lists[scope].forward) do
    forward[op.kind](self, op, use, function(value)
      return self:place(scope, value, use)
    end)
  end
end

-- --- backward -----------------------------------------------------------------------------------------------------

local function put(to, i, value, adds)
  to.data[i] = adds and to.data[i] + value or value
end

local back = {}

function back.classify_grad(m, b, _, at)
  local op, x, to, classes = b.op, at(b.op.x), m:gradient(b.to), m.net.classes.count
  local p = op.tied and op.tied or m:output_parameter()
  local of, g = m.values[m.net][0][p], m.gradients[m.net][0][p]
  for i = 1, #to.data do
    to.data[i] = 0
  end
  for l = 0, m.labels - 1 do
    local row = (x.rows - m.labels + l) * x.width
    for v = 1, classes do
      local d = m.objective[l * classes + v]
      if g.bias then
        g.bias[v] = g.bias[v] + d
      end
      for c = 1, x.width do
        local w = op.tied and (v - 1) * x.width + c or (c - 1) * classes + v
        g.weight[w] = g.weight[w] + d * x.data[row + c]
        to.data[row + c] = to.data[row + c] + d * of.weight[w]
      end
    end
  end
end

function back.weight_grad(m, b, use, at)
  local x, dy, g = at(b.x), m:gradient(b.dy), m:g(b.op, use)
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

function back.input_grad(m, b, use, at)
  local dy, to, p = m:gradient(b.dy), m:gradient(b.to), m:p(b.op, use)
  local rectified = b.relu and at(b.relu).data
  apart(b, dy, to)
  for t = 0, dy.rows - 1 do
    for k = 1, to.width do
      local sum, i = 0, t * to.width + k
      for c = 1, dy.width do
        sum = sum + dy.data[t * dy.width + c] * p.weight[(k - 1) * dy.width + c]
      end
      put(to, i, (not rectified or rectified[i] > 0) and sum or 0, b.adds)
    end
  end
end

function back.relu_grad(m, b, _, at)
  local y, dy, to = at(b.op.out).data, m:gradient(b.dy), m:gradient(b.to)
  for i = 1, #y do
    to.data[i] = y[i] > 0 and dy.data[i] or 0
  end
end

function back.activation_grad(m, b, _, at)
  local x, dy, to = at(b.op.x).data, m:gradient(b.dy), m:gradient(b.to)
  for i = 1, #x do
    to.data[i] = dy.data[i] * select(2, ACTIVATIONS[b.op.activation](x[i]))
  end
end

function back.gate_grad(m, b, _, at)
  local x, dy, to = at(b.op.x).data, m:gradient(b.dy), m:gradient(b.to)
  apart(b, dy, to)
  local C = dy.width
  for t = 0, dy.rows - 1 do
    for c = 1, C do
      local gate, up, d = 2 * t * C + c, 2 * t * C + C + c, dy.data[t * C + c]
      local value, slope = ACTIVATIONS[b.op.activation](x[gate])
      to.data[gate], to.data[up] = d * x[up] * slope, d * value
    end
  end
end

-- A row's sums are taken before the row is written: dy and what is written may be one buffer.
function back.norm_grad(m, b, use)
  local op, dy, to = b.op, m:gradient(b.dy), m:gradient(b.to)
  local p, g, C = m:p(op, use), m:g(op, use), dy.width
  local xhat = m:saved(op.scope, use, op.name .. "_xhat", op.out.width, op.out.stream).data
  local rstd = m:saved(op.scope, use, op.name .. "_rstd", { count = 1 }, op.out.stream).data
  for t = 0, dy.rows - 1 do
    local mean, along = 0, 0
    for c = 1, C do
      local d, h = dy.data[t * C + c], xhat[t * C + c]
      g.scale[c] = g.scale[c] + d * h
      if g.offset then
        g.offset[c] = g.offset[c] + d
      end
      mean = mean + (op.norm == "layer" and d * p.scale[c] / C or 0)
      along = along + d * p.scale[c] * h / C
    end
    for c = 1, C do
      local i = t * C + c
      put(to, i, (dy.data[i] * p.scale[c] - mean - xhat[i] * along) * rstd[t + 1], b.adds)
    end
  end
  if b.dbranch then
    local dbranch, mask = m:gradient(b.dbranch), m:saved(op.scope, use, op.keep, op.out.width, op.out.stream).data
    apart(b, dbranch, to)
    for i = 1, #mask do
      dbranch.data[i] = to.data[i] * mask[i]
    end
  end
end

function back.dropout_grad(m, b, use)
  local op, dy, to = b.op, m:gradient(b.dy), m:gradient(b.to)
  local mask = m:saved(op.scope, use, op.keep, op.out.width, op.out.stream).data
  for i = 1, #mask do
    to.data[i] = dy.data[i] * mask[i]
  end
end

function back.accumulate(m, b)
  local from, to = m:gradient(b.from), m:gradient(b.to)
  for i = 1, #to.data do
    to.data[i] = to.data[i] + from.data[i]
  end
end

function back.copy(m, b)
  local from, to = m:gradient(b.from), m:gradient(b.to)
  table.move(from.data, 1, #from.data, 1, to.data)
end

function back.clear(m, b)
  local to = m:gradient(b.to).data
  for i = 1, #to do
    to[i] = 0
  end
end

local function filled(buffer)
  for i = 1, #buffer.data do
    buffer.data[i] = 0
  end
  return buffer
end

function back.attention_grad(m, b, use, at)
  local op, dy = b.op, m:gradient(b.dy)
  local q, kv, weights = at(op.q), at(op.kv), m.weights[op.out][use]
  local dq, dkv = filled(m:gradient(b.dq)), b.dkv ~= b.dq and filled(m:gradient(b.dkv)) or m:gradient(b.dq)
  local dway = b.ddirection and filled(m:gradient(b.ddirection))
  local D, C, along = dy.width // op.family.heads, dy.width, {}
  local function dweight(h, i, value)
    local sum = 0
    for d = 1, D do
      sum = sum + dy.data[i * C + h * D + d] * kv.data[value + d]
    end
    return sum
  end
  each_pair(op, q, kv, function(h, i, j, _, _, value)
    local row = h * q.rows + i
    along[row] = (along[row] or 0) + weights[row * kv.rows + j + 1] * dweight(h, i, value)
  end)
  each_pair(op, q, kv, function(h, i, j, query, key, value, way)
    local weight = weights[(h * q.rows + i) * kv.rows + j + 1]
    local dlogit = weight * (dweight(h, i, value) - along[h * q.rows + i])
    for d = 1, D do
      put(dkv, value + d, weight * dy.data[i * C + h * D + d], true)
      put(dq, query + d, dlogit * kv.data[key + d] / math.sqrt(D), true)
      put(dkv, key + d, dlogit * q.data[query + d] / math.sqrt(D), true)
    end
    if way then
      put(dway, way, dlogit, true)
    end
  end)
end

function back.block_grad(m, b)
  local block = b.op.block
  for use = block.count * block.loops - 1, 0, -1 do
    m:run_backward(block, use)
  end
end

function back.embed_grad(m, b, use)
  local op, dy, g = b.op, m:gradient(b.dy), m:g(b.op, use).weight
  local mask = op.dropout and m:saved(op.scope, use, op.keep, op.out.width, op.out.stream).data
  for t = 0, dy.rows - 1 do
    for c = 1, dy.width do
      local at = m.tokens[op.stream.index + 1][t + 1] * dy.width + c
      g[at] = g[at] + op.scale * dy.data[t * dy.width + c] * (mask and mask[t * dy.width + c] or 1)
    end
  end
end

function Machine:run_backward(scope, use)
  for _, b in ipairs(self.lists[scope].backward) do
    back[b.kind](self, b, use, function(value)
      return self:place(scope, value, use)
    end)
  end
end

-- --- the whole ----------------------------------------------------------------------------------------------------

local function zeros(count)
  local list = {}
  for i = 1, count do
    list[i] = 0
  end
  return list
end

-- Sum of objective times logits, from empty buffers.
function Machine:loss()
  self.workspace, self.weights = {}, {}
  for _, block in ipairs(self.net.scopes) do
    self.kept[block] = {}
    for use = 0, block.count * block.loops - 1 do
      self.kept[block][use] = {}
    end
  end
  self:run_forward(self.net, 0)
  local sum = 0
  for i, logit in ipairs(self.logits) do
    sum = sum + logit * self.objective[i]
  end
  return sum
end

-- Gradients of all parameters.
function Machine:differentiate()
  self:loss()
  self.gradients = self:parameters(zeros)
  self:run_backward(self.net, 0)
  return self.gradients
end

-- Numbers of parameters, tokens, masks and the objective.
function Machine:draw(random)
  local function any()
    return random:below(2000001) / 1000000 - 1
  end
  self.random, self.masks = random, {}
  self.values = self:parameters(function(count, around)
    local list = {}
    for i = 1, count do
      list[i] = (around or 0) + any() / 2
    end
    return list
  end)
  for s, count in ipairs(self.rows) do
    self.tokens[s] = {}
    for t = 1, count do
      self.tokens[s][t] = random:below(self.net.tokens.count) - 1
    end
  end
  for i = 1, self.labels * self.net.classes.count do
    self.objective[i] = any()
  end
end

-- rows: tokens of each stream.
function M.new(net, random, rows)
  local m = setmetatable({ net = net, rows = rows, labels = 2, training = true, drops = true, kept = {}, tokens = {},
    objective = {}, lists = lists.derive(net) }, Machine)
  m.places = buffers.derive(net, m.lists, false)
  m:draw(random)
  return m
end

return M
