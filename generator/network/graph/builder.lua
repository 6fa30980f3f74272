-- Builds the graph of a network by running a description. A description is a function(net, model) of a file in models/,
-- or of a user. It calls the methods below on `net` and on the blocks that it makes.
--
-- Input: a description, and settings (M.build). Output: the network `net`, a scope with further fields:
--   order           all scopes, the network first
--   scopes          the blocks and groups
--   streams, tables, widths, dropouts, used_families   lists of these objects
--   classified      the value that holds the logits
--   is_step_major   the order of rows; true: step by step, each step with a row of every sequence; nil: sequence by
--                   sequence
--   cell_width      the count of numbers in a cell of a stack or tape (recurrence.lua); nil without such a memory
-- The objects:
--   width      a number of channels:
--     count           the number
--     text            the number as C text, such as "WIDTH"
--     base, factor    for a multiple of a width: the width that is multiplied, and the factor
--     unpadded_count  for logits: the number of columns without those that only fill a vector
--   value      rows of channels:
--     name            its name in generated code, also the name of its buffer
--     width           its width
--     stream          the stream of its tokens
--     scope           the scope whose operation makes it
--     op              the operation that makes it, or nil
--     is_residual     whether it is on the residual stream
--     read_count      the number of operations that read it; nil if none does
--     comment         text for comments
--     mask_name       for a branch: the start of the names of its dropout's mask and constants
--     is_input        true for a block's input, else nil
--     external        for a block's copy of a value of its parent: the value that is copied
--     has_copy        true for a value of which a block has a copy, else nil
--     carried, has_own_buffer   where it is stored (scope_lists.lua)
--   operation  has its operands (values) as fields, named by their roles in ops.lua, and:
--     kind            the name of its entry in ops.lua
--     definition      its entry in ops.lua
--     out             its result, a value
--     p               its parameter (p.name, p.kind and fields that depend on the kind: parameters.lua), or nil
--     other_parameters   a list of further parameters
--     line            the line of the description that made it
--     dropout         { name, use, rate }, or nil (dropouts.lua)
--     dropout_number  with dropout: the index of this dropout within the scope, from 0
--     mask            with dropout: the name of the stored mask; nil for attention (dropouts.lua)
--   scope      the network itself; a block; or a group, which repeats blocks together with the operations between them:
--     name            its name in generated code
--     title           its name in messages, such as "block layer"
--     parent          the scope in which it is repeated; nil for the network
--     is_group        whether it is a group, whose parameters belong to the network
--     ops             operations in the order of the description
--     parameters      parameters in the order of declaration
--     declared_last   parameters that are declared after all others
--     externals       a block's copies of values of its parent, except its input
--     dropout_count   the number of its dropouts
--     masks           name of a mask -> the number of masks with this name so far
--     count           the number of its sets of parameters
--     loops           the number of its passes; a pass runs through all sets
--     times           the number of its repetitions in one repetition of its parent. Example with 3 sets and 2 loops:
--                     6 if the parent is the network; 3 if the parent is a group, which itself runs 2 times
--     input_value, output_value   the input and the output of a repetition, values of the scope
--     outer_input     the input of the first repetition, a value of the parent
--     result          the output of the last repetition, a value of the parent
--     first_counter_index   the index of its first repetition in the random counter. The repetitions of all blocks
--                     are counted together, from 1; 0 is the network
--     repetitions_text   C text of count * loops, such as "3 * LAYERS"
--     count_name      C text of `count`, such as "LAYERS"
--     index           the C variable that counts repetitions from 0: "l"; "use" if there are several loops; for a
--                     group the group's name
--     last_pass_start   C text of the index of the last pass's first repetition; false if there is one pass.
--                     The last pass stores gradients of parameters; earlier passes add to these gradients
--     has_passes      whether the number of loops varies between steps. Training has at most `loops`
--     passes_by_length   whether the number of loops depends on the task length of a step's examples, or on an axis
--     is_progressive  whether a training step samples two numbers of loops: without gradient, and then with gradient
--     stored_loops    the largest number of loops with gradient in a training step
--     has_pass_losses   whether the loss of training is the mean of losses after each loop. Then only `classify`
--                     reads the result
--     sum_count       the number of its sums so far
--     used_names      name of a parameter or a tensor -> the parameter (checks.lua)
--
-- The order of operations in the description determines the order in which contributions to a gradient are added: the
-- contribution of the last operation comes first.
-- Values with equal names share a buffer. In a scope, only the results of attention and feedforward may have equal
-- names, `branch`, since the next sum reads such a result at once. Other equal names are refused.
-- A mistake in a description is an error of checks.lua; arguments that handles.lua has checked are not checked again.

local attention = require("network.graph.attention")
local checks = require("network.graph.checks")
local dropouts = require("network.graph.dropouts")
local feedforward = require("network.graph.feedforward")
local initial = require("network.graph.initial")
local inputs_and_outputs = require("network.graph.inputs_and_outputs")
local lists = require("base.lists")
local ops = require("network.graph.ops")
local recurrence = require("network.graph.recurrence")
local vector_width = require("base.vector_width")
local wording = require("base.wording")

local M = {}

local Scope = {}
Scope.__index = Scope

local MAX_OPERATIONS = 500 -- operations of a network; far more than a person writes
local MAX_NORM_WIDTH = 1024 -- WIDEST_ROW of kernels/cpu/vector.h
local MAX_REPETITIONS = 4096 -- repetitions of all blocks, each of which stores values for its backward pass

-- Returns the width whose constant in C is `name`. All widths with this name must have the same count.
function Scope:width(name, count)
  local net = self.net
  if not count or count < vector_width.WIDEST or count % vector_width.WIDEST ~= 0 then
    checks.fail(net, ("the width is %s"):format(count), "a multiple of %d", vector_width.WIDEST)
  end
  local width = net.widths[name]
  if width and width.count ~= count then
    checks.fail(net, ("the width %s is %d above, and %d here"):format(name:lower(), width.count, count), "another name")
  elseif not width then
    width = { count = count, text = name }
    net.widths[name] = width
    net.widths[#net.widths + 1] = width
  end
  return width
end

local function multiply_width(width, factor)
  return factor == 1 and width
    or { count = factor * width.count, text = factor .. " * " .. width.text, base = width, factor = factor }
end

local function make_value(scope, name, width, stream, is_residual)
  return { name = name, width = width, stream = stream, is_residual = is_residual or false, scope = scope }
end

-- Appends an operation and returns its result, a new value with this name and width.
local function push(scope, op, name, width, is_residual)
  local net = scope.net
  if scope.result then
    checks.fail(net, ("%s has an operation after its output"):format(scope.title),
      "block:output(value) as its last line")
  end
  checks.check_name(net, name, "a value")
  net.operation_count = (net.operation_count or 0) + 1
  if net.operation_count > MAX_OPERATIONS then
    checks.fail(net, "the network has too many operations", "at most %d", MAX_OPERATIONS)
  end
  op.definition = ops[op.kind]
  op.scope, op.line = scope, checks.find_line(net)
  local first_operand = op[op.definition.roles[1]]
  op.out = make_value(scope, name, width, first_operand and first_operand.stream or op.stream, is_residual)
  op.out.op = op
  scope.ops[#scope.ops + 1] = op
  return op.out
end

-- Declares a parameter; parameters lie in memory in the order of declaration.
function Scope:declare(parameter)
  local net = self.net
  if self.is_group then
    return net:declare(parameter)
  end
  checks.check_name(net, parameter.name, "a parameter")
  checks.check_parameter(self, parameter)
  parameter.scope = self
  self.parameters[#self.parameters + 1] = parameter
  return parameter
end

-- Returns a width of `count` channels for the result of a product: the model's width or the width of x if it has this
-- count, else a width named after the product.
local function find_product_width(scope, product_name, x, count)
  local model_width = scope.net.widths.WIDTH
  if count == model_width.count then
    return model_width
  elseif count == x.width.count then
    return x.width
  end
  return scope:width(product_name:upper() .. "_CHANNELS", count)
end

-- Appends the product y = x W (+ b). W is one weight, or several weights side by side. width: the number of columns of
-- each weight, or a width of the network.
--   options.weight    the parameter's name, by default the value's name
--   options.tensors   the list of the weights' names in files, by default one weight with the parameter's name
--   options.bias      true or false; false unless given
--   options.role      the word for the product in names of functions, by default the value's name
--   options.attention_part   "queries" or "attended" for a weight of attention (initial.lua), else nil
--   options.fan_out   if the weight is a part of a wider matrix: the number of the matrix's columns (initial.lua)
--   options.unpadded_count   the number of the tensor's columns in files, if further columns only fill the width
--   options.comment   the comment of the parameter's member of the C struct
--   options.declared  true: the caller declares the parameter
function Scope:product(name, x, width, options)
  options = options or {}
  checks.read(self, x, "the input of a product")
  checks.check_name(self.net, name, "a value")
  if math.type(width) == "integer" then
    width = find_product_width(self, name, x, width)
  end
  local weight = options.weight or name
  local tensors = options.tensors or { weight }
  local p = { kind = "weight", name = weight, rows = x.width, width = width, columns = multiply_width(width, #tensors),
    tensors = tensors, bias = options.bias or false, unpadded_count = options.unpadded_count, comment = options.comment,
    attention_part = options.attention_part, fan_out = options.fan_out, init = options.init or self.net.initial }
  if not options.declared then
    self:declare(p)
  end
  local op = { kind = "product", x = x, p = p, role = options.role or name, weight = weight }
  return push(self, op, name, p.columns)
end

-- Makes the method that appends an activation or a gate: y = f(x), row by row, with dropout of y. definition: the
-- kind's entry in ops.lua.
local function make_row_method(kind, definition)
  return function(self, name, x, activation, rate)
    checks.read(self, x, ("the input of %s %s"):format(wording.choose_article(kind), kind))
    checks.check_kind(self.net, definition.kinds, activation, kind)
    local width = definition.choose_width and definition.choose_width(x, function(...)
      checks.fail(self.net, ...)
    end) or x.width
    local op = { kind = kind, x = x, activation = activation }
    self:drop(op, name, rate, "value", name:upper(), name:upper())
    return push(self, op, name, width)
  end
end

for kind, definition in next, ops.list_row_operations() do
  Scope[kind] = make_row_method(kind, definition)
end

-- Appends y = norm(x). path: the name of the norm's tensors in files, by default `name`.
function Scope:norm(name, x, kind, path)
  checks.read(self, x, "the input of a norm")
  kind = kind or "layer"
  checks.check_kind(self.net, ops.norm.kinds, kind, "norm")
  if x.width.count > MAX_NORM_WIDTH then
    checks.fail(self.net, ("norm %s of %d channels"):format(name, x.width.count), "at most %d channels",
      MAX_NORM_WIDTH)
  end
  local p = self:declare({ kind = "norm", name = name, norm = kind, columns = x.width, path = path or name })
  return push(self, { kind = "norm", x = x, p = p, norm = kind, name = name }, name, x.width)
end

-- Appends the sum residual + branch, with dropout of the branch at a rate.
function Scope:add(residual, branch, rate)
  checks.read(self, residual, "the first summand")
  checks.read(self, branch, "the second summand")
  checks.check_widths(self, residual, branch, "the summands")
  self.sum_count = self.sum_count + 1
  local op = { kind = "add", residual = residual, branch = branch }
  local mask_name = branch.mask_name or branch.name
  self:drop(op, mask_name, rate, "branch", "BRANCH", mask_name:upper())
  return push(self, op, ("sum%d"):format(self.sum_count), residual.width, true)
end

Scope.push, Scope.attention, Scope.feedforward, Scope.recur = push, attention.attend, feedforward, recurrence.recur
Scope.drop, Scope.drop_attention_weights = dropouts.drop, dropouts.drop_attention_weights

lists.update(Scope, inputs_and_outputs)

-- Makes a block's copy of a value of its parent. The block can then read this value in addition to its input.
function Scope:external(value)
  checks.read(self.parent, value, "the external value")
  local block_copy = make_value(self, value.name, value.width, value.stream, false)
  block_copy.external, value.has_copy = value, true
  self.externals[#self.externals + 1] = block_copy
  return block_copy
end

-- Sets the input of a block's first repetition. Returns the input of each repetition, a value of the block.
function Scope:input(value)
  local net = self.net
  if self.outer_input then
    checks.fail(net, ("%s has a second input"):format(self.title),
      "one input, and block:external(value) for other values that it reads")
  end
  checks.read(self.parent, value, "the input of " .. self.title)
  self.outer_input = value
  self.input_value = make_value(self, "input", value.width, value.stream, true)
  self.input_value.is_input = true
  return self.input_value
end

-- Sets the output of a repetition, which is the input of the next repetition. The last output is the block's result.
function Scope:output(value)
  checks.read(self, value, "the output of " .. self.title)
  checks.check_output(self, value)
  value.name, value.is_residual = "output", true
  local op = { kind = "block", x = self.outer_input, block = self, externals = {} }
  for i, inner in ipairs(self.externals) do
    op.externals[i] = inner.external
  end
  self.result = push(self.parent, op, "output", value.width, true)
  self.output_value = value
end

-- Adds a block or a group. set_count: the number of its sets of parameters for each set of its parent. options:
--   loops, has_passes, passes_by_length, is_progressive   values of its fields, by default the values of the parent
--   has_pass_losses   the value of its field, by default false
local function add_scope(parent, name, title, set_count, options)
  local net = parent.net
  if net.scopes[name] then
    checks.fail(net, ("two blocks are named %s"):format(name), "different names")
  end
  local scope = M.make_scope(net, name, title .. " " .. name)
  scope.parent, scope.count, scope.line = parent, set_count * parent.count, checks.find_line(net)
  scope.loops, scope.has_passes = options.loops or parent.loops, options.has_passes or parent.has_passes
  scope.passes_by_length = options.passes_by_length or parent.passes_by_length
  scope.is_progressive = options.is_progressive or parent.is_progressive
  scope.has_pass_losses = options.has_pass_losses or false
  scope.stored_loops = scope.is_progressive and scope.loops // 2 or scope.loops -- see lh_draw_passes: train_lengths.h
  scope.times = parent == net and set_count * scope.loops or set_count
  net.scopes[name] = scope
  net.scopes[#net.scopes + 1], net.order[#net.order + 1] = scope, scope
  return scope
end

-- Makes a group: blocks, and operations before, between and after the blocks. count: the number of its repetitions with
-- separate parameters; options: see add_scope.
function Scope:group(name, count, options)
  local group = add_scope(self, name, "group", count, options)
  group.is_group, group.index, group.repetitions_text = true, name, tostring(group.count * group.loops)
  group.count_name = tostring(group.count)
  return group
end

-- "layer" -> "layers", "layer2" -> "layers2", "memory" -> "memory_layers".
local function make_plural(name)
  if name:find("layer%d*$") then
    return (name:gsub("layer(%d*)$", "layers%1"))
  end
  return name .. "_layers"
end

-- Makes a block, a repeated part of its parent. count: the number of its repetitions with separate parameters; comment:
-- its comment in generated code, or nil. Further options than those of add_scope:
--   path            the prefix of its tensors' names: a format with %d for the number of the repetition
--   get_number(i)   a function that returns the number of repetition i; by default the number is i
function Scope:block(name, count, comment, options)
  local net = self.net
  options = options or {}
  local block = add_scope(self, name, "block", count, options)
  local repetitions = block.count * block.loops
  checks.check_parameter(net, { kind = "block", name = name })
  if net.repetition_count + repetitions > MAX_REPETITIONS then
    checks.fail(net, ("the blocks of the network have %d repetitions"):format(net.repetition_count + repetitions),
      "at most %d", MAX_REPETITIONS)
  end
  block.comment = comment or ("One block %s."):format(name)
  block.path, block.get_number = options.path or name .. "s.%d.", options.get_number
  block.first_counter_index = net.repetition_count + 1
  net.parameters[#net.parameters + 1] = { kind = "block", name = name, block = block }
  net.repetition_count = net.repetition_count + repetitions
  block.count_name, block.parameters_type = make_plural(name):upper(), name .. "_parameters"
  block.gradients_type = name .. "_gradients"
  block.repetitions_text, block.last_pass_start = block.count_name, false
  if block.loops > 1 then
    block.index = "use"
    block.repetitions_text = ("%d * %s"):format(block.loops, block.count_name)
    block.last_pass_start = ("%d * %s"):format(block.loops - 1, block.count_name)
  end
  return block
end

-- Returns the prefix of the names of a repetition's tensors. repetition: its index among the repetitions of all loops,
-- from 0.
function Scope:get_path(repetition)
  return self.path:format(self.get_number and self.get_number(repetition) or repetition)
end

-- Makes an empty scope. net: the network, or nil if the new scope is the network; title: its name in messages.
function M.make_scope(net, name, title)
  local scope = setmetatable({ name = name, title = title, ops = {}, parameters = {}, externals = {}, sum_count = 0,
    dropout_count = 0, masks = {}, declared_last = {}, used_names = {}, count = 1, loops = 1, first_counter_index = 0,
    repetitions_text = "1", index = "l", comment = false, has_passes = false, passes_by_length = false,
    is_progressive = false, stored_loops = 1, has_pass_losses = false, is_group = false }, Scope)
  scope.net = net or scope
  return scope
end

-- Builds the graph of a description. chunk: for a user's file, the name under which Lua loaded the file; checks.lua
-- needs this name to find lines. settings:
--   model            the section that the description reads
--   tokens           a width: the number of rows of a table of tokens
--   inputs           a width: the number of rows of a linear embedding
--   classes          a width: the number of columns of logits
--   families         the attention families by name
--   additive         an encoding whose vectors are added to tokens (net.input_additive) or in blocks
--                    (net.block_additive), or nil
--   layer_families   the families of encodings by layer (dimensions.list_layer_families), or nil
function M.build(describe, settings, chunk)
  local net = M.make_scope(nil, "network", "the network")
  net.chunk = chunk
  net.model, net.tokens, net.inputs, net.classes = settings.model, settings.tokens, settings.inputs, settings.classes
  net.layer_families = settings.layer_families or {}
  net.families, net.additive = settings.families, settings.additive
  net.initial = initial.SCHEMES[settings.model.init or "haiku"]
  net.additive_dropout = settings.additive and settings.additive.embedding_rate or nil
  local in_blocks = settings.additive and settings.additive.in_blocks
  net.block_additive = in_blocks and settings.additive or nil
  net.input_additive = not in_blocks and settings.additive or nil
  net.streams, net.tables, net.scopes, net.widths, net.dropouts, net.used_families = {}, {}, {}, {}, {}, {}
  net.order = { net }
  net.repetition_count = 0
  net:width("WIDTH", settings.model.width)
  describe(net, settings.model)
  checks.check_all(net)
  for scope, p in lists.iterate_nested(net.order, "declared_last") do
    scope:declare(p)
  end
  return net
end

return M
