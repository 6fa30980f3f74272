-- The backward pass of a scope, derived from its fused list by one rule for each kind of operation.
--
-- Input: the fused list (fuse.lua), the scope's input and result. Output: a list of entries in the order of execution,
-- and value -> the buffer of its gradient.
--
--   buffer   { name, width, stream, outside }; one name is one buffer. Gradients of the residual stream share
--            `gradient`, the gradient of another value is in d<name> (base/names.lua). outside: a buffer of the
--            network, which sums gradients of a block's external value
--   entry    { kind, op, ... }; op: the operation of the forward list, nil for accumulate (to += from), copy and clear.
--            Buffers: dy, the gradient of the operation's result, is read; to, dbranch, dq, dkv and dcontribution are
--            written. adds: the entry adds to `to`; otherwise it stores. x (weight_grad): the value that the product
--            reads; relu (input_grad): the rectified value by which the gradient is masked, or nil
--
-- A rule takes its gradient from read_gradient(value). open_gradient(value) gives the buffer in which the first
-- contribution is stored and to which others are added. hand(value, buffer) states that the buffer holds a
-- contribution already: no entry is needed unless the value has another contribution, or needs its own buffer. If a
-- buffer changes before the value's gradient is complete and read, which versions of buffers reveal, the value gets its
-- own buffer, and the list is derived again.

local buffers = require("network.lists.buffers")
local fuse = require("network.lists.fuse")
local names = require("base.names")
local ops = require("network.graph.ops")

local M = {}

local MOST_ROUNDS = 100

-- The buffer of a value's gradient, as a copy of the value with another name.
local function rename_value(name, value)
  return { name = name, width = value.width, stream = value.stream }
end

-- The buffer that holds, one after another, the gradients of the values on a residual stream.
local function name_stream_gradient(value)
  return rename_value(buffers.name_for_stream("gradient", value), value)
end

-- A second buffer for a value's gradient. All blocks' inputs have one name, so the buffer's name contains the width.
local function name_further_gradient(value, ending)
  return rename_value(buffers.name_for_stream(names.name_gradient(value.name .. ending), value), value)
end

-- The state of one derivation. own: value -> the number of its own buffer; gradients: value -> the buffer of its
-- gradient; version: buffer -> the number of writes so far; seen: value -> this number when its gradient was
-- last written; stale: values that need a buffer of their own; rectified: products whose gradient a reader rectified.
local Tape = {}
Tape.__index = Tape

-- Returns the one object for the buffers with the name of `b`.
function Tape:find_buffer(b)
  self.buffers[b.name] = self.buffers[b.name] or b
  return self.buffers[b.name]
end

-- The buffer that receives the first contribution to a value's gradient.
function Tape:choose_buffer(value)
  local number = self.own[value]
  if not number then
    return self:find_buffer(value.of_stream and not value.is_external and name_stream_gradient(value)
      or rename_value(names.name_gradient(value.name), value))
  end
  return self:find_buffer(name_further_gradient(value, "_own" .. (number > 1 and number or "")))
end

function Tape:note_change(buffer)
  self.version[buffer] = (self.version[buffer] or 0) + 1
end

-- Records, after a contribution, that the buffer now holds the value's gradient.
function Tape:settle(value)
  if not value.external then
    self.seen[value] = self.version[self.gradients[value]] or 0
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
function Tape:separate(value)
  if not self.stale[value] then
    self.stale[value] = true
    self.stale[#self.stale + 1] = value
  end
end

-- The gradient of a value, for an operation that reads it or adds to it.
function Tape:read_gradient(value)
  local buffer = self.gradients[value]
  if (self.version[buffer] or 0) ~= self.seen[value] then
    self:separate(value)
  end
  return buffer
end

-- The buffer for a contribution to a value's gradient, and whether the contribution is added to its content.
function Tape:open_gradient(value)
  if value.external then
    local outside = rename_value(names.name_gradient(value.name), value)
    outside.outside = true
    return self:find_buffer(outside), true
  elseif self.gradients[value] then
    return self:read_gradient(value), true
  end
  self.gradients[value] = self:choose_buffer(value)
  return self.gradients[value], false
end

-- Stores a contribution of an entry that cannot add to a buffer: a second contribution is stored in a buffer of its own
-- and then added. `write` emits the entry with the buffer that it receives.
function Tape:store(value, write)
  local buffer, adds = self:open_gradient(value)
  local part = adds and self:find_buffer(name_further_gradient(value, "_part")) or buffer
  write(part)
  self:note_change(part)
  if adds then
    self:emit({ kind = "accumulate", from = part, to = buffer }, buffer)
  end
  self:settle(value)
end

-- Records that `buffer` already holds a contribution to the value's gradient: the first one, or one that must be added.
function Tape:hand(value, buffer)
  if value.external or self.gradients[value] then
    local to = self:open_gradient(value)
    self:emit({ kind = "accumulate", from = buffer, to = to }, to)
  elseif self.own[value] or value.is_external then
    self.gradients[value] = self:choose_buffer(value)
    self:emit({ kind = "copy", from = buffer, to = self.gradients[value] }, self.gradients[value])
  else
    self.gradients[value] = buffer
  end
  self:settle(value)
end

-- The buffer in which the entry of a sum and norm can also store the branch's gradient, with dropout's mask applied;
-- nil if the branch already has a gradient or is external.
function Tape:open_dropped(op)
  local branch = op.branch
  if branch.external or self.gradients[branch] then
    return nil
  end
  self.gradients[branch] = self.own[branch] and self:choose_buffer(branch)
    or self:find_buffer(name_further_gradient(branch, ""))
  return self.gradients[branch]
end

-- Gives the gradient of a sum to the sum's branch. The residual has the same gradient and reads the same buffer later,
-- so the branch gets its own buffer if it would change this one.
function Tape:hand_to_branch(op, dy)
  local before = self.version[dy]
  if op.dropout then
    self:store(op.branch, function(buffer)
      self:emit({ kind = "dropout_grad", op = op, dy = dy, to = buffer })
    end)
  else
    self:hand(op.branch, dy)
  end
  if self.version[dy] ~= before then
    self:separate(op.branch)
  end
end

local rules = {}

-- y = norm(residual + branch). If nothing else reads the sum, the sum's gradient replaces the norm's; otherwise the sum
-- already has a gradient, to which the norm's part is added.
function rules.add_norm(tape, op)
  local dy = tape:read_gradient(op.out)
  local to = op.sum and tape:read_gradient(op.sum) or dy
  local dbranch = op.dropout and tape:open_dropped(op)
  tape:emit({ kind = "norm_grad", op = op, dy = dy, to = to, adds = op.sum ~= nil, dbranch = dbranch }, to)
  if dbranch then
    tape:note_change(dbranch)
    tape:settle(op.branch)
  else
    tape:hand_to_branch(op, to)
  end
  tape:hand(op.residual, to)
end

function rules.norm(tape, op)
  local dy, to, adds = tape:read_gradient(op.out), tape:open_gradient(op.x)
  tape:emit({ kind = "norm_grad", op = op, dy = dy, to = to, adds = adds }, to)
  tape:settle(op.x)
end

function rules.add(tape, op)
  local dy = tape:read_gradient(op.out)
  tape:hand_to_branch(op, dy)
  tape:hand(op.residual, dy)
end

-- Applies an operation's dropout mask to the gradient of its result, in place.
local function mask_gradient(tape, op)
  local dy = tape:read_gradient(op.out)
  if op.dropout then
    tape:emit({ kind = "dropout_grad", op = op, dy = dy, to = dy }, dy)
  end
  return dy
end

-- The gradient of the weight, then the gradient of the input. If only this product reads a rectified input, the input's
-- gradient is rectified at once: it is zero where the input is zero, also where the input was dropped out.
function rules.product(tape, op)
  local dy = mask_gradient(tape, op)
  if op.relu and not tape.rectified[op] then
    tape:emit({ kind = "relu_grad", op = op, dy = dy, to = dy }, dy)
  end
  tape:emit({ kind = "weight_grad", op = op, x = op.x, dy = dy })
  local producer = tape.producer[op.x]
  local relu = producer and producer.relu and #tape.readers[op.x] == 1 or false
  local to, adds = tape:open_gradient(op.x)
  if relu then
    tape.rectified[producer] = true
  end
  if to == dy then -- a product cannot run in place
    tape:separate(op.out)
  end
  tape:emit({ kind = "input_grad", op = op, dy = dy, to = to, adds = adds, relu = relu and op.x or nil }, to)
  tape:settle(op.x)
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
  tape:emit({ kind = "attention_grad", op = op, dy = dy, dq = dq, dkv = dkv, dcontribution = dcontribution }, dq)
  for _, buffer in ipairs({ dkv ~= dq and dkv or nil, dcontribution }) do
    tape:note_change(buffer)
  end
  for _, value in ipairs(ops.list_read(op)) do
    tape:settle(value)
  end
end

-- The gradient before position vectors were added: dropout in place, and the gradient of learned vectors, if any.
function rules.place(tape, op)
  local d = tape:read_gradient(op.out)
  if op.dropout or op.p and not op.p.frozen then
    tape:emit({ kind = "place_grad", op = op, dy = d, to = op.dropout and d or nil }, op.dropout and d or nil)
  end
  tape:hand(op.x, d)
end

function rules.classify(tape, op)
  local to = tape:open_gradient(op.x)
  tape:emit({ kind = "classify_grad", op = op, to = to }, to)
  tape:settle(op.x)
end

-- All repetitions of a block: the gradient of the result becomes that of the input, in place, in the stream's buffer.
function rules.block(tape, op)
  local d, dy = tape:find_buffer(name_stream_gradient(op.out)), tape:read_gradient(op.out)
  if d ~= dy then
    tape:emit({ kind = "copy", from = dy, to = d }, d)
  end
  for _, value in ipairs(op.externals) do
    local to, adds = tape:open_gradient(value)
    if not adds then
      tape:emit({ kind = "clear", to = to }, to)
    end
    tape:settle(value)
  end
  tape:emit({ kind = "block_grad", op = op, dy = d }, d)
  for name in pairs(tape.executed[op.block].writes) do
    if tape.buffers[name] then
      tape:note_change(tape.buffers[name])
    end
  end
  for _, value in ipairs(op.externals) do
    tape:note_change(tape.gradients[value])
    tape:settle(value)
  end
  tape:hand(op.x, d)
end

function rules.embed(tape, op)
  local d = tape:read_gradient(op.out)
  tape:emit({ kind = "embed_grad", op = op, dy = d }, op.dropout and d or nil)
end

-- One derivation. Before a block's list runs, `gradient` holds the gradient of its result; after it, of its input.
local function derive(list, entry, result, own, executed)
  local tape = setmetatable({ list = {}, gradients = {}, buffers = {}, version = {}, seen = {}, stale = {}, own = own,
    executed = executed, readers = fuse.find_readers(list), producer = {}, rectified = {} }, Tape)
  for _, op in ipairs(list) do
    tape.producer[op.out] = op
  end
  if result then
    tape:hand(result, tape:find_buffer(name_stream_gradient(result)))
  end
  for i = #list, 1, -1 do
    rules[list[i].kind](tape, list[i])
  end
  if entry then
    local d, home = tape:read_gradient(entry), tape:find_buffer(name_stream_gradient(entry))
    if d ~= home then
      tape:emit({ kind = "copy", from = d, to = home }, home)
    end
  end
  return tape
end

-- entry, result: the block's input and output; nil for the network itself. executed: block -> its derived lists
-- (scope_lists.lua), for the blocks in the list.
function M.derive(list, entry, result, executed)
  local own, numbers = {}, {}
  for _ = 1, MOST_ROUNDS do
    local tape = derive(list, entry, result, own, executed)
    if #tape.stale == 0 then
      return tape.list, tape.gradients
    end
    for _, value in ipairs(tape.stale) do -- a number for each value, since several values may have one name
      numbers[value.name] = (numbers[value.name] or 0) + 1
      own[value] = numbers[value.name]
    end
  end
  error("the backward pass finds no order of buffers", 0)
end

return M
