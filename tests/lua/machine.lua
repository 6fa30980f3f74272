-- Runs a network's forward and backward lists on numbers, with the named buffers of generated code: a saved buffer
-- exists once for each repetition, any other buffer once, and operations are in place if the lists say so.
--
-- Input: a network (network/graph/builder.lua). A buffer contains the values that any operation wrote last, and NaN
-- before the first one; it has the width of its first owner. An operation that a real machine cannot do in place (a
-- product into its own input) is an error here.

local backward_operations = require("machine_backward")
local buffers = require("network.lists.buffers")
local forward = require("machine_forward")
local lists = require("network.lists.scope_lists")

local M = {}

-- --- buffers ------------------------------------------------------------------------------------------------------

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

-- A buffer of the given set, made if it does not exist.
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

-- The buffer of a repetition's input; after the last repetition, the buffer of the block's result.
function Machine:home(block, use)
  local kept = self.training and self:reads_back(block, block.entry)
  if use == block.count * block.loops then
    return self:place(self.net, block.result)
  elseif kept and (use > 0 or block.first.carried) then
    return self:buffer(self.kept[block][use], "input", block.entry.width, block.entry.stream)
  elseif use == 0 and not block.first.carried then
    return self:place(self.net, block.first)
  end
  return self:buffer(self.workspace, buffers.name_for_stream("output", block.entry), block.entry.width,
    block.entry.stream)
end

-- The buffer of a value; use: the repetition.
function Machine:place(scope, value, use)
  if value.external then
    return self:place(self.net, value.external)
  elseif scope == self.net then
    if value.carried then
      local block = value.carried.block
      return block and self.training and self:reads_back(block, block.entry) and self:home(block, 0)
        or self:buffer(self.workspace, buffers.name_for_stream("output", value), value.width, value.stream)
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

-- The buffer of a norm's saved values, or of a mask.
function Machine:saved(scope, use, name, width, stream)
  local set = scope == self.net and self.workspace or self.kept[scope][self.training and use or 0]
  return self:buffer(set, name, width, stream)
end

function Machine:gradient(b)
  return self:buffer(self.workspace, b.name, b.width, b.stream)
end

-- --- parameters ---------------------------------------------------------------------------------------------------

-- The numbers of a scope's parameters, by member; the lists have no parameters of facets.
local function make_numbers(scope, make)
  local set = {}
  for _, p in ipairs(scope.parameters) do
    if p.kind == "weight" then
      set[p] = { weight = make(p.rows.count * p.columns.count), bias = p.bias and make(p.columns.count) or nil }
    elseif p.kind == "norm" then
      set[p] = { scale = make(p.columns.count, 1), offset = p.norm == "layer" and make(p.columns.count) or nil }
    elseif p.kind == "table" then
      set[p] = { weight = make(p.rows.count * p.columns.count) }
    elseif p.kind == "linear" then
      set[p] = { weight = make(p.rows.count * p.columns.count), bias = make(p.columns.count) }
    elseif p.kind == "output" then
      set[p] = { weight = make(p.rows.count * p.columns.count), bias = make(p.columns.count) }
    end
  end
  return set
end

-- Parameters by scope and repetition; the repetitions of a loop share one set.
function Machine:parameters(make)
  local all = { [self.net] = { [0] = make_numbers(self.net, make) } }
  for _, block in ipairs(self.net.scopes) do
    all[block] = {}
    for i = 0, block.count - 1 do
      all[block][i] = make_numbers(block, make)
    end
  end
  return all
end

local function get_use(all, scope, use)
  return all[scope][scope.count and use % scope.count or 0]
end

function Machine:p(op, use)
  return get_use(self.values, op.scope, use)[op.p]
end

function Machine:g(op, use)
  return get_use(self.gradients, op.scope, use)[op.p]
end

function Machine:output_parameter()
  for _, p in ipairs(self.net.parameters) do
    if p.kind == "output" then
      return p
    end
  end
end

-- The first `count` elements of an operation's mask at a use: 1 / (1 - rate) or 0; all ones without dropout.
function Machine:dropout_mask(op, use, count, into)
  local rate = self.drops and op.dropout and op.dropout.rate or 0
  local key = ("%s %s %d"):format(op.scope.name, op.place, use)
  self.masks[key] = self.masks[key] or {}
  for i = 1, count do
    self.masks[key][i] = self.masks[key][i] or self.random:pick_number(1000) / 1000
    into[i] = self.masks[key][i] < rate and 0 or 1 / (1 - rate)
  end
  return into
end

-- The mask for values of this width, in a buffer of the layer.
function Machine:mask(op, use, width, stream)
  local to = self:saved(op.scope, use, op.keep, width, stream).data
  return self:dropout_mask(op, use, #to, to)
end

-- The mask for this number of attention weights.
function Machine:weights_mask(op, use, count)
  return self:dropout_mask(op, use, count, {})
end

-- --- lists --------------------------------------------------------------------------------------------------------

function Machine:run_forward(scope, use)
  for _, op in ipairs(self.lists[scope].forward) do
    forward[op.kind](self, op, use, function(value)
      return self:place(scope, value, use)
    end)
  end
end

function Machine:run_backward(scope, use)
  for _, b in ipairs(self.lists[scope].backward) do
    backward_operations[b.kind](self, b, use, function(value)
      return self:place(scope, value, use)
    end)
  end
end

-- --- the whole network --------------------------------------------------------------------------------------------

local function make_zeros(count)
  local list = {}
  for i = 1, count do
    list[i] = 0
  end
  return list
end

-- The sum of objective times logits; buffers are empty at first.
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

-- The row of x from which label l is predicted.
function Machine:labelled(op, x, l)
  return op.readout == "probe" and (2 * l + 1) % x.rows or x.rows - self.labels + l
end

-- Computes the gradients of all parameters.
function Machine:differentiate()
  self:loss()
  self.gradients = self:parameters(make_zeros)
  self:run_backward(self.net, 0)
  return self.gradients
end

-- Samples parameters, tokens, masks and the objective.
function Machine:draw(random)
  local function any()
    return random:pick_number(2000001) / 1000000 - 1
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
      self.tokens[s][t] = random:pick_number(self.net.tokens.count) - 1
    end
  end
  for i = 1, self.labels * self.net.classes.count do
    self.objective[i] = any()
  end
end

-- rows: number of tokens in each stream.
function M.new(net, random, rows)
  local m = setmetatable({ net = net, rows = rows, labels = 2, training = true, drops = true, kept = {}, tokens = {},
    objective = {}, lists = lists.derive(net) }, Machine)
  m.places = buffers.derive(net, m.lists, false)
  m:draw(random)
  return m
end

return M
