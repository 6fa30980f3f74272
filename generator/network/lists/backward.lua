-- Derives the backward pass of a scope from its fused list, by one rule for each kind of operation.
--
-- Input: the fused list of operations (fuse.lua), the scope's input and result. Output: a list of entries in the order
-- of execution; and a table, value -> the buffer of its gradient. builder.lua describes operations and values. A
-- block's copy of a value of the network has the field `external`, and the copied value has the field has_copy.
-- Buffers and entries:
--
--   buffer   a table with these fields; equal names mean the same buffer:
--     name      "gradient" for values of the residual stream: this buffer holds their gradients in turn, each in place
--               of the one before; d<name> (base/names.lua) for the gradient of another value
--     width, stream   the width and the stream of these values
--     outside   whether it is a buffer of the network, in which gradients of a block's external value are summed
--   entry    a step of the backward pass; fields that an entry does not need are nil:
--     kind   the kind of the entry: "<kind of operation>_grad", "accumulate" (to += from), "copy" or "clear"
--     op     the operation of the forward list; nil for accumulate, copy and clear
--     from   the buffer that accumulate and copy read
--     dy     the buffer with the gradient of the operation's result, which the entry reads
--     to, dbranch, dq, dkv, dcontribution   the buffers that the entry writes; dcontribution: the gradient of the
--            operand `contribution` of attention (ops.lua)
--     is_added   whether the entry's result is added to `to` instead of being stored there
--     x      the value that the product reads, for weight_grad
--     rectified_value   the result of relu by which the gradient is masked, for input_grad
--     only_with_free_passes   for clear: whether the entry runs only in training steps that begin with free passes
--            (passes without gradient)
--
-- A rule gets the buffer with the gradient of its operation's result from read_gradient(value). open_gradient(value)
-- gives the buffer in which the first contribution to a gradient is stored and to which later contributions are added.
-- share_buffer(value, buffer) records that the buffer already holds a contribution to the value's gradient: no entry is
-- needed unless the gradient has another contribution or needs its own buffer. Each contribution records the version of
-- the buffer, that is, how often it has been written. If the version has changed when the gradient is read, another
-- write has destroyed the gradient: then this gradient gets its own buffer, and the list is derived again.

local buffers = require("network.lists.buffers")
local fuse = require("network.lists.fuse")
local names = require("base.names")
local ops = require("network.graph.ops")

local M = {}

local MAX_DERIVATIONS = 100

-- A buffer with the width and the stream of a value.
local function make_buffer(name, value)
  return { name = name, width = value.width, stream = value.stream }
end

-- The buffer that holds, one after another, the gradients of the values on a residual stream.
local function make_stream_gradient(value)
  return make_buffer(buffers.name_for_stream("gradient", value), value)
end

-- A further buffer for a value's gradient. The inputs of all blocks have the same name, so name_for_stream adds the
-- value's stream and width. ending: the end of the name, such as "_part".
local function make_further_gradient(value, ending)
  return make_buffer(buffers.name_for_stream(names.name_gradient(value.name .. ending), value), value)
end

-- The state of one derivation:
--   list             the entries so far
--   buffers          name of a buffer -> the buffer
--   buffer_numbers   value -> a number for the name of its gradient's own buffer, for values whose gradients need one
--   gradients        value -> the buffer of its gradient
--   versions         buffer -> its version, the number of writes so far
--   value_versions   value -> the version of its gradient's buffer at the time of the last contribution to the gradient
--   unsafe_values    the list of values whose gradients need their own buffers, since another write would destroy them;
--                    also value -> true
--   masked_by_relu   the set of those products with relu whose gradient is already masked by the derivative of relu
--   producers        value -> the operation that makes it
--   readers          value -> the operations that read it
--   lists_by_scope   block -> its derived lists (scope_lists.lua)
local Tape = {}
Tape.__index = Tape

-- Returns the first buffer with this buffer's name that was passed to this function, so each name has one buffer.
function Tape:find_buffer(buffer)
  self.buffers[buffer.name] = self.buffers[buffer.name] or buffer
  return self.buffers[buffer.name]
end

-- The buffer that receives the first contribution to a value's gradient.
function Tape:choose_buffer(value)
  local number = self.buffer_numbers[value]
  if not number then
    return self:find_buffer(value.is_residual and not value.has_copy and make_stream_gradient(value)
      or make_buffer(names.name_gradient(value.name), value))
  end
  return self:find_buffer(make_further_gradient(value, "_own" .. (number > 1 and number or "")))
end

function Tape:note_change(buffer)
  self.versions[buffer] = (self.versions[buffer] or 0) + 1
end

-- Records, after a contribution to a value's gradient, the present version of the gradient's buffer.
function Tape:record_version(value)
  if not value.external then
    self.value_versions[value] = self.versions[self.gradients[value]] or 0
  end
end

-- Appends an entry; ...: the buffers that it writes.
function Tape:emit(entry, ...)
  self.list[#self.list + 1] = entry
  for _, buffer in ipairs({ ... }) do
    self:note_change(buffer)
  end
end

-- Requests a buffer of its own for a value's gradient; the list is then derived again.
function Tape:request_own_buffer(value)
  if not self.unsafe_values[value] then
    self.unsafe_values[value] = true
    self.unsafe_values[#self.unsafe_values + 1] = value
  end
end

-- The buffer with the gradient of a value, for an entry that reads the gradient or adds to it.
function Tape:read_gradient(value)
  local buffer = self.gradients[value]
  if (self.versions[buffer] or 0) ~= self.value_versions[value] then
    self:request_own_buffer(value)
  end
  return buffer
end

-- The buffer for a contribution to a value's gradient, and whether the contribution is added to the buffer's content.
function Tape:open_gradient(value)
  if value.external then
    local network_buffer = make_buffer(names.name_gradient(value.name), value)
    network_buffer.outside = true
    return self:find_buffer(network_buffer), true
  elseif self.gradients[value] then
    return self:read_gradient(value), true
  end
  self.gradients[value] = self:choose_buffer(value)
  return self.gradients[value], false
end

-- Stores the contribution of an entry that cannot add to a buffer: if the gradient already has a contribution, the
-- entry writes a further buffer, which is then added. emit_entry(buffer): emits the entry, which writes the buffer.
function Tape:store(value, emit_entry)
  local buffer, is_added = self:open_gradient(value)
  local addend = is_added and self:find_buffer(make_further_gradient(value, "_part")) or buffer
  emit_entry(addend)
  self:note_change(addend)
  if is_added then
    self:emit({ kind = "accumulate", from = addend, to = buffer }, buffer)
  end
  self:record_version(value)
end

-- Records that `buffer` already holds a contribution to the value's gradient. If the gradient already has another
-- contribution, an entry adds this one.
function Tape:share_buffer(value, buffer)
  if value.external or self.gradients[value] then
    local to = self:open_gradient(value)
    self:emit({ kind = "accumulate", from = buffer, to = to }, to)
  elseif self.buffer_numbers[value] or value.has_copy then
    self.gradients[value] = self:choose_buffer(value)
    self:emit({ kind = "copy", from = buffer, to = self.gradients[value] }, self.gradients[value])
  else
    self.gradients[value] = buffer
  end
  self:record_version(value)
end

-- The buffer in which norm_grad, the entry of a fused sum and norm, also stores the gradient of the branch, with
-- dropout's mask applied; nil if the branch already has a gradient or is external.
function Tape:open_branch_gradient(op)
  local branch = op.branch
  if branch.external or self.gradients[branch] then
    return nil
  end
  self.gradients[branch] = self.buffer_numbers[branch] and self:choose_buffer(branch)
    or self:find_buffer(make_further_gradient(branch, ""))
  return self.gradients[branch]
end

-- Records the gradient of a sum, which is in `dy`, as a contribution to the gradient of the sum's branch. The caller
-- then reads the residual's gradient in `dy`. So if this function appends an entry that changes `dy`, the branch gets
-- its own buffer.
function Tape:add_branch_gradient(op, dy)
  local old_version = self.versions[dy]
  if op.dropout then
    self:store(op.branch, function(buffer)
      self:emit({ kind = "dropout_grad", op = op, dy = dy, to = buffer })
    end)
  else
    self:share_buffer(op.branch, dy)
  end
  if self.versions[dy] ~= old_version then
    self:request_own_buffer(op.branch)
  end
end

-- Functions, by the kind of an operation, that append the entries of its backward pass.
local rules = {}

-- y = norm(residual + branch). If only the norm reads the sum, the sum's gradient replaces the gradient of y in its
-- buffer. If other operations read the sum, it already has a gradient, and the contribution through the norm is added.
function rules.add_norm(tape, op)
  local dy = tape:read_gradient(op.out)
  local to = op.sum and tape:read_gradient(op.sum) or dy
  local dbranch = op.dropout and tape:open_branch_gradient(op)
  tape:emit({ kind = "norm_grad", op = op, dy = dy, to = to, is_added = op.sum ~= nil, dbranch = dbranch }, to)
  if dbranch then
    tape:note_change(dbranch)
    tape:record_version(op.branch)
  else
    tape:add_branch_gradient(op, to)
  end
  tape:share_buffer(op.residual, to)
end

function rules.norm(tape, op)
  local dy, to, is_added = tape:read_gradient(op.out), tape:open_gradient(op.x)
  tape:emit({ kind = "norm_grad", op = op, dy = dy, to = to, is_added = is_added }, to)
  tape:record_version(op.x)
end

function rules.add(tape, op)
  local dy = tape:read_gradient(op.out)
  tape:add_branch_gradient(op, dy)
  tape:share_buffer(op.residual, dy)
end

-- Applies an operation's dropout mask to the gradient of its result, in place.
local function mask_gradient(tape, op)
  local dy = tape:read_gradient(op.out)
  if op.dropout then
    tape:emit({ kind = "dropout_grad", op = op, dy = dy, to = dy }, dy)
  end
  return dy
end

-- Entries for the gradient of the weight, then for the gradient of the input. If the input is an output of relu that
-- only this product reads, the entry input_grad also applies the derivative of relu: the gradient is zero where the
-- input is zero, which includes the elements that were dropped out.
function rules.product(tape, op)
  local dy = mask_gradient(tape, op)
  if op.has_relu and not tape.masked_by_relu[op] then
    tape:emit({ kind = "relu_grad", op = op, dy = dy, to = dy }, dy)
  end
  tape:emit({ kind = "weight_grad", op = op, x = op.x, dy = dy })
  local producer = tape.producers[op.x]
  local applies_relu = producer and producer.has_relu and #tape.readers[op.x] == 1 or false
  local to, is_added = tape:open_gradient(op.x)
  if applies_relu then
    tape.masked_by_relu[producer] = true
  end
  if to == dy then -- a product cannot run in place
    tape:request_own_buffer(op.out)
  end
  tape:emit({ kind = "input_grad", op = op, dy = dy, to = to, is_added = is_added,
    rectified_value = applies_relu and op.x or nil }, to)
  tape:record_version(op.x)
end

for kind in next, ops.list_row_operations() do
  rules[kind] = function(tape, op)
    local dy = mask_gradient(tape, op)
    tape:store(op.x, function(buffer)
      tape:emit({ kind = kind .. "_grad", op = op, dy = dy, to = buffer })
    end)
  end
end

function rules.attention(tape, op)
  local dy = tape:read_gradient(op.out)
  local dq = tape:open_gradient(op.q)
  local dkv = op.kv == op.q and dq or tape:open_gradient(op.kv)
  local dcontribution = op.contribution and tape:open_gradient(op.contribution)
  tape:emit({ kind = "attention_grad", op = op, dy = dy, dq = dq, dkv = dkv, dcontribution = dcontribution }, dq, dkv,
    dcontribution)
  for _, value in ipairs(ops.list_read(op)) do
    tape:record_version(value)
  end
end

-- y = x + vectors of positions. One entry applies dropout's mask in place and sums the gradient of learned vectors.
function rules.place(tape, op)
  local dy = tape:read_gradient(op.out)
  if op.dropout or op.p and not op.p.frozen then
    tape:emit({ kind = "place_grad", op = op, dy = dy, to = op.dropout and dy or nil }, op.dropout and dy or nil)
  end
  tape:share_buffer(op.x, dy)
end

-- Adds, in place, the gradients through all later steps to the gradients of states.
function rules.recur(tape, op)
  local dy = tape:read_gradient(op.out)
  tape:emit({ kind = "recur_grad", op = op, dy = dy }, dy)
end

function rules.classify(tape, op)
  local to = tape:open_gradient(op.x)
  tape:emit({ kind = "classify_grad", op = op, to = to }, to)
  tape:record_version(op.x)
end

-- One entry runs all repetitions of a block. They find the gradient of the block's result in the stream's buffer, and
-- leave the gradient of the block's input there.
function rules.block(tape, op)
  local gradient, dy = tape:find_buffer(make_stream_gradient(op.out)), tape:read_gradient(op.out)
  if gradient ~= dy then
    tape:emit({ kind = "copy", from = dy, to = gradient }, gradient)
  end
  for _, value in ipairs(op.externals) do
    local to, is_added = tape:open_gradient(value)
    if not is_added then
      tape:emit({ kind = "clear", to = to }, to)
    end
    tape:record_version(value)
  end
  tape:emit({ kind = "block_grad", op = op, dy = gradient }, gradient)
  for name in pairs(tape.lists_by_scope[op.block].writes) do
    if tape.buffers[name] then
      tape:note_change(tape.buffers[name])
    end
  end
  for _, value in ipairs(op.externals) do
    tape:note_change(tape.gradients[value])
    tape:record_version(value)
  end
  if op.block.is_progressive and op.block.parent == op.block.net and not op.x.op.definition.is_constant then
    -- free passes stop the gradient: the gradient of the block's input is zero
    tape:emit({ kind = "clear", to = gradient, only_with_free_passes = true }, gradient)
  end
  tape:share_buffer(op.x, gradient)
end

-- Constants have no gradient.
function rules.zeros() end

rules.noise = rules.zeros

function rules.embed(tape, op)
  local dy = tape:read_gradient(op.out)
  tape:emit({ kind = "embed_grad", op = op, dy = dy }, op.dropout and dy or nil)
end

-- Derives a list once. The buffer `gradient` holds the gradient of a block's result before the block's list runs, and
-- the gradient of the block's input afterwards.
local function derive_once(list, input, result, buffer_numbers, lists_by_scope)
  local tape = setmetatable({ list = {}, gradients = {}, buffers = {}, versions = {}, value_versions = {},
    unsafe_values = {}, buffer_numbers = buffer_numbers, lists_by_scope = lists_by_scope,
    readers = fuse.find_readers(list), producers = {}, masked_by_relu = {} }, Tape)
  for _, op in ipairs(list) do
    tape.producers[op.out] = op
  end
  if result then
    tape:share_buffer(result, tape:find_buffer(make_stream_gradient(result)))
  end
  for i = #list, 1, -1 do
    rules[list[i].kind](tape, list[i])
  end
  if input then
    local buffer, stream_buffer = tape:read_gradient(input), tape:find_buffer(make_stream_gradient(input))
    if buffer ~= stream_buffer then
      tape:emit({ kind = "copy", from = buffer, to = stream_buffer }, stream_buffer)
    end
  end
  return tape
end

-- Derives the backward list. input, result: the block's input and output; nil for the network itself. lists_by_scope:
-- block -> its derived lists (scope_lists.lua), for the blocks in the list.
function M.derive(list, input, result, lists_by_scope)
  local buffer_numbers, numbers_by_name = {}, {}
  for _ = 1, MAX_DERIVATIONS do
    local tape = derive_once(list, input, result, buffer_numbers, lists_by_scope)
    if #tape.unsafe_values == 0 then
      return tape.list, tape.gradients
    end
    for _, value in ipairs(tape.unsafe_values) do -- each value gets a number, since several values may have equal names
      numbers_by_name[value.name] = (numbers_by_name[value.name] or 0) + 1
      buffer_numbers[value] = numbers_by_name[value.name]
    end
  end
  error("the backward pass of this network finds no assignment of buffers to gradients: report its spec", 0)
end

return M
