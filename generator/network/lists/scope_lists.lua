-- Derives the forward list (fused) and the backward list of every scope of a network. Renames values of the network so
-- that they can share buffers without conflicts.
--
-- Input: a network (builder.lua); a scope is the network itself, a block or a group. Output: a table `lists_by_scope`.
-- Its field `order` is the list of scopes, the network first. For each scope it has a table with these fields:
--   forward     the operations of the forward pass (fuse.lua)
--   backward    the entries of the backward pass (backward.lua)
--   gradients   value -> the buffer of its gradient
--   writes      the set of the names of the buffers that the backward list writes, except buffers for values
--               of enclosing scopes
--
-- Values with equal names share a buffer, also if they belong to different scopes. Carried values are an exception: no
-- buffer has the name of a carried value. Carried values are values of the residual stream outside of blocks, of two
-- kinds:
--   a block's input    A block is the value's only reader, and reads it as its input.
--   a block's result   Another operation is the value's only reader.
-- A carried value that is a block's input is in the block's buffer for inputs, if the block has such a buffer. All
-- other carried values are in the buffer of the stream's output. A carried value has the field `carried`, a table with
-- the field `block`: the block that reads the value as its input, or false.
--
-- There is a conflict if two values would need one buffer at the same time, or if one buffer would need two shapes. The
-- module changes one of the values, then derives the lists again:
--   a carried value   gets a buffer of its own name (the field `has_own_buffer`)
--   another value     gets a new name in the graph: the stream's name as a prefix, or a number as a suffix
-- The module finds conflicts by a walk through the forward passes of training and of evaluation: every read must find
-- the right value.

local backward = require("network.lists.backward")
local buffers = require("network.lists.buffers")
local diagnostics = require("base.diagnostics")
local fuse = require("network.lists.fuse")
local lists = require("base.lists")
local base_names = require("base.names")
local ops = require("network.graph.ops")

local M = {}

local MAX_ATTEMPTS = 1000

-- Names of other members in the C struct of a workspace, which no buffer may have.
local RESERVED_NAMES = lists.split_set([[step block parameters shared length sequences tokens rows all read vocabulary
  token_vectors token_scratch position position_scratch sums losses correct keep]])

-- Names of the arrays that device code has for each attention (cuda_buffers.lua).
local ATTENTION_BUFFERS = { "delta", "dproducts", "head_sums", "inverse_sum", "inverse_total", "key_bias", "key_sums",
  "largest", "log_sum", "pair_scores", "pairs", "query_sums", "starts", "weights" }

-- Sets the field `carried` of the values of a network or a group.
local function mark_in_scope(scope)
  local readers = fuse.find_readers(scope.ops)
  local function mark(value)
    local value_readers = readers[value] or {}
    local reader = #value_readers == 1 and value_readers[1]
    local block = reader and reader.kind == "block" and reader.x == value and reader.block
    local is_result_read_once = value.op and value.op.kind == "block" and reader
    local is_carried = value.is_residual and not value.has_own_buffer and (block or is_result_read_once)
    value.carried = is_carried and { block = block or false } or nil
  end
  if scope.input_value then
    mark(scope.input_value)
  end
  for _, op in ipairs(scope.ops) do
    mark(op.out)
  end
end

-- Sets the field `carried` of all values.
local function mark_carried(net)
  mark_in_scope(net)
  for _, scope in ipairs(net.scopes) do
    if scope.is_group then
      mark_in_scope(scope)
    end
  end
end

-- The lists of all scopes (lists_by_scope) with the present names of values; they may have conflicts.
local function derive_lists(net)
  local lists_by_scope = { order = net.order }
  for i = #lists_by_scope.order, 1, -1 do -- the lists of blocks come before the network's list, which depends on them
    local scope = lists_by_scope.order[i]
    local forward = fuse.fuse(scope.ops, scope.output_value)
    local list, gradients = backward.derive(forward, scope.input_value, scope.output_value, lists_by_scope)
    local own_buffers = lists.filter(lists.collect(list, buffers.list_written), function(buffer)
      return not buffer.outside
    end)
    lists_by_scope[scope] = { forward = forward, backward = list, gradients = gradients,
      writes = lists.to_set(lists.get_names(own_buffers)) }
  end
  return lists_by_scope
end

-- A walk through a forward pass, of training or of evaluation, which checks that every read finds the right value. A
-- key identifies a buffer (Walk:make_key). Fields:
--   is_training     whether the pass belongs to training
--   contents        key of a buffer -> the value that was last written to it
--   shapes          key of a buffer -> its shape
--   read_backward   scope -> the set of the values that its backward list reads
--   values_at_end   the values that must still be in their buffers when the pass ends
--   reserved_names  the set of the names that no buffer of a value may have
local Walk = {}
Walk.__index = Walk

-- Raises a conflict: `value` cannot have its buffer. holder: the value in the buffer, or nil.
-- The error's field `conflict` is the value to change: `value`, or `holder` if `value` cannot be changed.
local function raise_conflict(value, holder)
  for _, candidate in ipairs({ value, holder }) do
    local can_be_renamed = candidate.op and candidate ~= candidate.op.scope.output_value
    if candidate.carried or can_be_renamed then
      error({ problem = true, conflict = candidate }, 0)
    end
  end
  error(holder and ("network: the buffer of the value %s holds the value %s; one of them needs another name"):format(
    value.name, holder.name) or ("network: the value %s needs another name: its buffer's name is taken"):format(
    value.name), 0)
end

local function get_shape(value)
  return ("%d %s"):format(value.width.count, value.stream.name)
end

-- Whether every repetition of a block keeps its input for the backward pass.
function Walk:keeps_input(block)
  return self.is_training and self.read_backward[block][block.input_value] or false
end

-- The key of a value's buffer: "BLOCK.NAME" if each repetition of a block has such a buffer; else the buffer's name.
function Walk:make_key(scope, value)
  if value.external then
    return self:make_key(scope.parent, value.external)
  elseif value.carried then
    local block = M.find_block_storing(value)
    return block and self:keeps_input(block) and block.name .. ".input" or buffers.name_for_stream("output", value)
  end
  return (scope ~= self.net and self.read_backward[scope][value] and scope.name .. "." or "") .. value.name
end

-- Checks that the value which an operation reads is in its buffer.
function Walk:check_read(key, value)
  if self.contents[key] ~= value then
    raise_conflict(value, self.contents[key])
  end
end

-- Records that an operation writes a value to a buffer, and checks the buffer's name and shape.
function Walk:note_write(key, value)
  local shape = get_shape(value)
  self.shapes[key] = self.shapes[key] or shape
  if self.reserved_names[key] or self.shapes[key] ~= shape then
    raise_conflict(value)
  end
  self.contents[key] = value
end

-- Walks a repetition of a block or a group, or the network itself.
--   input, result   { key, value }: the repetition's input and result with the keys of their buffers, or nil
function Walk:walk_scope(scope, input, result)
  for _, op in ipairs(self.lists_by_scope[scope].forward) do
    for _, value in ipairs(ops.list_read(op)) do
      if value == scope.input_value and input then
        self:check_read(input.key, input.value)
      else
        self:check_read(self:make_key(scope, value), M.find_origin(value))
      end
    end
    if op.kind == "block" then
      self:walk_block(scope, op, input, result)
    elseif op.out == scope.output_value then
      self:note_write(result.key, result.value)
    else
      for _, value in ipairs(ops.list_results(op)) do
        self:note_write(self:make_key(scope, value), value)
      end
    end
  end
end

-- Checks that the values which a scope's backward list reads are still in their buffers when the scope ends. External
-- values must be in their buffers until the pass ends, so this function adds them to values_at_end.
function Walk:check_kept(scope)
  for _, op in ipairs(self.lists_by_scope[scope].forward) do
    for _, value in ipairs(ops.list_results(op)) do
      if self.read_backward[scope][value] and value ~= scope.output_value
        and (scope ~= self.net or self.is_training) then
        self:check_read(self:make_key(scope, value), value)
      end
    end
  end
  for _, value in ipairs(self.is_training and scope.externals or {}) do
    self.values_at_end[#self.values_at_end + 1] = self.read_backward[scope][value] and M.find_origin(value) or nil
  end
end

-- Walks the repetitions of a block.
--   op      the operation that runs the block
--   scope   the scope of this operation
--   scope_input, scope_result   the arguments `input` and `result` of walk_scope for `scope`
function Walk:walk_block(scope, op, scope_input, scope_result)
  local block, keeps_input = op.block, self:keeps_input(M.find_block_storing_input(op.block))
  local walked_count = math.min(block.times, 2) -- repetitions after the second behave as the second
  local stream_output = buffers.name_for_stream("output", block.output_value)
  local input = op.x == scope.input_value and scope_input or { key = self:make_key(scope, op.x), value = op.x }
  if keeps_input and scope == self.net and not op.x.carried then -- the backward pass reads the buffer of op.x itself
    self.values_at_end[#self.values_at_end + 1] = op.x
  end
  for repetition = 1, walked_count do
    local result
    if repetition < walked_count then
      result = { key = keeps_input and ("%s.input %d"):format(block.name, repetition) or stream_output,
        value = block.output_value }
    elseif op.out == scope.output_value then
      result = scope_result
    else
      result = { key = self:make_key(scope, op.out), value = op.out }
    end
    self:walk_scope(block, input, result)
    self:check_kept(block)
    input = result
  end
end

-- The set of the names that no buffer of a value may have: names of other members in the C structs of workspaces and
-- layers. In device code, carried values of the network are such members.
local function find_reserved(net, lists_by_scope)
  local names = lists.to_set(lists.get_names(net.streams[2] and net.streams or {}))
  setmetatable(names, { __index = RESERVED_NAMES })
  for _, scope in ipairs(lists_by_scope.order) do
    names[scope.name], names[scope.name .. "s"] = true, true
    lists.update(names, lists_by_scope[scope].writes)
    for _, op in ipairs(scope.ops) do
      if scope == net and op.out.carried and op.kind ~= "block" then
        names[op.out.name] = true
      end
      if op.family then
        names[op.family.name], names[scope.name .. "." .. op.family.name] = true, true
        for _, word in ipairs(ATTENTION_BUFFERS) do
          local member = op.family.prefix .. word
          names[member], names[scope.name .. "." .. member] = true, true
        end
      end
    end
  end
  return names
end

-- Checks all reads of a forward pass; the first conflict raises an error (raise_conflict).
local function walk_pass(net, lists_by_scope, is_training)
  local walk = setmetatable({ net = net, lists_by_scope = lists_by_scope, is_training = is_training, contents = {},
    shapes = {}, read_backward = {}, values_at_end = {}, reserved_names = find_reserved(net, lists_by_scope) }, Walk)
  for _, scope in ipairs(lists_by_scope.order) do
    walk.read_backward[scope] = buffers.find_read_values(lists_by_scope[scope].backward)
  end
  walk:walk_scope(net)
  walk:check_kept(net)
  for _, value in ipairs(walk.values_at_end) do
    walk:check_read(walk:make_key(net, value), value)
  end
end

-- Checks the buffers of gradients that are named d<name>: the gradients in such a buffer must have equal shapes.
local function check_gradients(lists_by_scope)
  local shapes = {}
  for _, scope in ipairs(lists_by_scope.order) do
    for _, op in ipairs(lists_by_scope[scope].forward) do
      for _, value in ipairs(ops.list_results(op)) do
        local buffer, shape = lists_by_scope[scope].gradients[value], get_shape(value)
        if value ~= scope.output_value and buffer then
          local is_named_after_value = buffer.name:find(base_names.name_gradient(value.name), 1, true) == 1
          local first_shape = shapes[buffer.name] or shape
          if is_named_after_value and first_shape ~= shape then
            raise_conflict(value)
          end
          shapes[buffer.name] = first_shape
        end
      end
    end
  end
end

-- The value to change, because its buffer has a conflict; nil if there is no conflict.
local function find_conflict(net, lists_by_scope)
  local _, problem = diagnostics.attempt(function()
    walk_pass(net, lists_by_scope, true)
    walk_pass(net, lists_by_scope, false)
    check_gradients(lists_by_scope)
  end)
  return problem and problem.conflict
end

-- Renames a value in one of two ways:
--   STREAM_name   in a stream that is not the first, if this name is free. All values of the scope with the same name,
--                 width and stream are renamed together.
--   name_NUMBER   in all other cases
local function rename_value(net, value)
  local base = value.name:gsub("_%d+$", "")
  local used_names = lists.to_set(lists.collect(net.order, function(scope)
    return lists.map(scope.ops, function(op) return op.out.name end)
  end))
  used_names[base] = true
  local stream_name = ("%s_%s"):format(value.stream.name, base)
  local has_prefix = base:sub(1, #value.stream.name) == value.stream.name
  if value.stream.index > 0 and not used_names[stream_name] and not has_prefix then
    local old_name = value.name
    for _, op in ipairs(value.scope.ops) do
      local is_shared = op.out.name == old_name and op.out.width == value.width and op.out.stream == value.stream
      op.out.name = is_shared and stream_name or op.out.name
    end
  else
    value.name = base_names.find_unused(base, used_names)
  end
  for _, inner in lists.iterate_nested(net.scopes, "externals") do
    inner.name = inner.external.name
  end
end

-- If a block reads a value of the network as an external value, the buffer d<name> holds the gradient of this value
-- alone. So this function renames other values with the same name.
local function rename_external_duplicates(net)
  local external_values = {} -- name -> the value of the network
  for _, inner in lists.iterate_nested(net.scopes, "externals") do
    external_values[inner.name] = inner.external
  end
  for scope, op in lists.iterate_nested(net.order, "ops") do
    if op.out ~= scope.output_value and (external_values[op.out.name] or op.out) ~= op.out then
      rename_value(net, op.out)
    end
  end
end

-- Returns the block or group that stores the input of `block`: `block` itself; for a group with a carried input, the
-- inner block that reads the input.
function M.find_block_storing_input(block)
  local is_carried_input = block.is_group and block.input_value.carried
  return is_carried_input and M.find_block_storing_input(block.input_value.carried.block) or block
end

-- The block that stores a carried value as its input; false if no block reads the value as its input.
function M.find_block_storing(value)
  return value.carried.block and M.find_block_storing_input(value.carried.block)
end

-- The original of an external value: a value of the network. For other values, the value itself.
function M.find_origin(value)
  return value.external and M.find_origin(value.external) or value
end

-- Derives the lists of all scopes; sets `carried` and `has_own_buffer` of values, and renames values.
function M.derive(net)
  for _ = 1, MAX_ATTEMPTS do
    mark_carried(net)
    rename_external_duplicates(net)
    local lists_by_scope = derive_lists(net)
    local value = find_conflict(net, lists_by_scope)
    if not value then
      return lists_by_scope
    elseif value.carried then
      value.has_own_buffer = true
    else
      rename_value(net, value)
    end
  end
  error(("network: values still conflict in their buffers after %d attempts; report the description of the network")
    :format(MAX_ATTEMPTS), 0)
end

return M
