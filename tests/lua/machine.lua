-- A machine that runs a network's forward and backward lists on numbers, with the named buffers of generated code: a
-- buffer that the backward pass reads exists once for each repetition, any other buffer once.
--
-- Input: a network (network/graph/builder.lua). A buffer contains NaN before an operation writes to it, and has the
-- width of its first value. An operation in place that real code cannot do (a product into its own input) is an error
-- here.

local backward_operations = require("machine_backward")
local buffers = require("network.lists.buffers")
local forward = require("machine_forward")
local lists = require("base.lists")
local scope_lists = require("network.lists.scope_lists")

local M = {}

-- Fields:
--   net            the network
--   lists          the forward and backward list of each scope
--   places         the result of buffers.derive: which values the backward pass reads
--   rows           the number of tokens of each stream
--   tokens         the tokens of each stream
--   labels         the number of labelled tokens
--   values         the numbers of the parameters, by scope, layer and parameter
--   gradients      the gradients of these numbers, in the same form
--   workspace      buffers by name
--   stored         buffers by block, repetition and name
--   weights        attention weights by the attention's result and repetition
--   masks          masks of dropout
--   logits         the logits of labelled tokens
--   objective      the factor of each logit in the loss
--   random         a generator (random.lua)
--   is_training    whether buffers are stored for the backward pass
--   has_dropout    whether dropout applies
local Machine = {}
Machine.__index = Machine

local function make_buffer(name, width, rows)
  local data = {}
  for i = 1, rows * width do
    data[i] = 0 / 0
  end
  return { name = name, width = width, rows = rows, data = data }
end

function Machine:count_rows(stream)
  return self.rows[stream.index + 1]
end

-- Returns the buffer { name, width, rows, data } of this name in a table of buffers; makes it if it does not exist.
function Machine:get_buffer(set, name, width, stream)
  local b = set[name]
  if not b then
    b = make_buffer(name, width.count, self:count_rows(stream))
    set[name] = b
  elseif b.width ~= width.count or b.rows ~= self:count_rows(stream) then
    error(("the buffer %s is [%d][%d], and [%d][%d] is needed"):format(name, b.rows, b.width, self:count_rows(stream),
      width.count), 0)
  end
  return b
end

-- Whether the backward pass reads a value.
function Machine:is_read_backward(scope, value)
  return self.places.scopes[scope].read_backward[value] or false
end

-- Returns the buffer of a block's input in a repetition; after the last repetition, the buffer of the block's result.
function Machine:get_input_buffer(block, repetition)
  local is_stored = self.is_training and self:is_read_backward(block, block.input_value)
  if repetition == block.count * block.loops then
    return self:get_value_buffer(self.net, block.result)
  elseif is_stored and (repetition > 0 or block.outer_input.carried) then
    return self:get_buffer(self.stored[block][repetition], "input", block.input_value.width, block.input_value.stream)
  elseif repetition == 0 and not block.outer_input.carried then
    return self:get_value_buffer(self.net, block.outer_input)
  end
  return self:get_buffer(self.workspace, buffers.name_for_stream("output", block.input_value), block.input_value.width,
    block.input_value.stream)
end

-- Returns the buffer of a value. repetition: the repetition of the value's block.
function Machine:get_value_buffer(scope, value, repetition)
  if value.external then
    return self:get_value_buffer(self.net, value.external)
  elseif scope == self.net then
    if value.carried then
      local block = value.carried.block
      return block and self.is_training and self:is_read_backward(block, block.input_value)
        and self:get_input_buffer(block, 0)
        or self:get_buffer(self.workspace, buffers.name_for_stream("output", value), value.width, value.stream)
    end
    return self:get_buffer(self.workspace, value.name, value.width, value.stream)
  elseif value == scope.input_value then
    return self:get_input_buffer(scope, repetition)
  elseif value == scope.output_value then
    return self:get_input_buffer(scope, repetition + 1)
  end
  local set = self:is_read_backward(scope, value) and self.stored[scope][self.is_training and repetition or 0]
    or self.workspace
  return self:get_buffer(set, value.name, value.width, value.stream)
end

-- Returns the buffer of the values that a norm saves, or of a mask.
function Machine:get_saved_buffer(scope, repetition, name, width, stream)
  local set = scope == self.net and self.workspace or self.stored[scope][self.is_training and repetition or 0]
  return self:get_buffer(set, name, width, stream)
end

function Machine:get_gradient_buffer(b)
  return self:get_buffer(self.workspace, b.name, b.width, b.stream)
end

local MATRICES = { weight = true, table = true, linear = true, output = true } -- kinds of parameters

-- Returns the numbers of a scope's parameters, by parameter and member. make(count, mean) returns a list of `count`
-- numbers; mean is nil for 0.
local function make_numbers(scope, make)
  local set = {}
  for _, p in ipairs(scope.parameters) do
    if MATRICES[p.kind] then
      local has_bias = p.kind == "linear" or p.kind == "output" or p.kind == "weight" and p.bias
      set[p] = { weight = make(p.rows.count * p.columns.count), bias = has_bias and make(p.columns.count) or nil }
    elseif p.kind == "norm" then
      set[p] = { scale = make(p.columns.count, 1), offset = p.norm == "layer" and make(p.columns.count) or nil }
    end
  end
  return set
end

-- Returns the numbers of all parameters, by scope and layer. The loops of a block share the parameters.
function Machine:make_parameters(make)
  local numbers_by_block = { [self.net] = { [0] = make_numbers(self.net, make) } }
  for _, block in ipairs(self.net.scopes) do
    numbers_by_block[block] = {}
    for i = 0, block.count - 1 do
      numbers_by_block[block][i] = make_numbers(block, make)
    end
  end
  return numbers_by_block
end

local function get_numbers_of(numbers_by_block, scope, repetition)
  return numbers_by_block[scope][scope.count and repetition % scope.count or 0]
end

-- Returns the values of an operation's parameter.
function Machine:get_parameter(op, repetition)
  return get_numbers_of(self.values, op.scope, repetition)[op.p]
end

-- Returns the gradients of an operation's parameter.
function Machine:get_gradient(op, repetition)
  return get_numbers_of(self.gradients, op.scope, repetition)[op.p]
end

function Machine:find_output_parameter()
  return lists.find(self.net.parameters, function(p) return p.kind == "output" end)
end

-- Writes the first `count` elements of an operation's mask in a repetition to `list`; returns `list`. An element is
-- 1 / (1 - rate) or 0; without dropout all elements are 1.
function Machine:fill_mask(op, repetition, count, list)
  local rate = self.has_dropout and op.dropout and op.dropout.rate or 0
  local key = ("%s %s %d"):format(op.scope.name, op.dropout_number, repetition)
  self.masks[key] = self.masks[key] or {}
  for i = 1, count do
    self.masks[key][i] = self.masks[key][i] or self.random:pick_number(1000) / 1000
    list[i] = self.masks[key][i] < rate and 0 or 1 / (1 - rate)
  end
  return list
end

-- Makes the mask of values with this width, in a buffer; returns the mask.
function Machine:make_mask(op, repetition, width, stream)
  local to = self:get_saved_buffer(op.scope, repetition, op.mask, width, stream).data
  return self:fill_mask(op, repetition, #to, to)
end

-- Returns the mask of `count` attention weights.
function Machine:make_weights_mask(op, repetition, count)
  return self:fill_mask(op, repetition, count, {})
end

-- Runs the forward list of a scope in a repetition.
function Machine:run_forward(scope, repetition)
  for _, op in ipairs(self.lists[scope].forward) do
    forward[op.kind](self, op, repetition, function(value)
      return self:get_value_buffer(scope, value, repetition)
    end)
  end
end

-- Runs the backward list of a scope in a repetition.
function Machine:run_backward(scope, repetition)
  for _, b in ipairs(self.lists[scope].backward) do
    backward_operations[b.kind](self, b, repetition, function(value)
      return self:get_value_buffer(scope, value, repetition)
    end)
  end
end

local function make_zeros(count)
  local list = {}
  for i = 1, count do
    list[i] = 0
  end
  return list
end

-- Runs the forward pass from empty buffers; returns the loss, the sum of objective times logits.
function Machine:compute_loss()
  self.workspace, self.weights = {}, {}
  for _, block in ipairs(self.net.scopes) do
    self.stored[block] = {}
    for repetition = 0, block.count * block.loops - 1 do
      self.stored[block][repetition] = {}
    end
  end
  self:run_forward(self.net, 0)
  local sum = 0
  for i, logit in ipairs(self.logits) do
    sum = sum + logit * self.objective[i]
  end
  return sum
end

-- Returns the index of the row of x from which label l is predicted.
function Machine:find_labelled_row(op, x, l)
  return op.readout == "probe" and (2 * l + 1) % x.rows or x.rows - self.labels + l
end

-- Computes the gradients of all parameters.
function Machine:differentiate()
  self:compute_loss()
  self.gradients = self:make_parameters(make_zeros)
  self:run_backward(self.net, 0)
  return self.gradients
end

-- Samples parameters, tokens, masks and the objective, the factor of each logit in the loss.
function Machine:sample(random)
  local function pick_value()
    return random:pick_number(2000001) / 1000000 - 1
  end
  self.random, self.masks = random, {}
  self.values = self:make_parameters(function(count, mean)
    local list = {}
    for i = 1, count do
      list[i] = (mean or 0) + pick_value() / 2
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
    self.objective[i] = pick_value()
  end
end

-- Makes a machine with sampled values. rows: a list of the number of tokens of each stream.
function M.new(net, random, rows)
  local m = setmetatable({ net = net, rows = rows, labels = 2, is_training = true, has_dropout = true, stored = {},
    tokens = {}, objective = {}, lists = scope_lists.derive(net) }, Machine)
  m.places = buffers.derive(net, m.lists, false)
  m:sample(random)
  return m
end

return M
