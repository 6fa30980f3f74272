-- The forward list, fused, and the backward list of every scope of a network, over named buffers.
--
-- Input: a network (builder.lua). Output: order, the scopes, the network first; scope -> { forward, backward, at,
-- writes }. at: value -> the buffer of its gradient; writes: the set of the names of the buffers that the backward list
-- writes, except those for external values.
--
-- Values of a scope and of different scopes share buffers by name. Two kinds of values on the network's residual stream
-- have no buffer of their own name, but are in a block's input or in the stream's output: a value that only one block
-- reads, as its input, and the result of a block if it is read once. They have `carried` = { block }: the block that
-- reads it, or false. If two values would need one buffer at a time, or one buffer would need two shapes, a value gets
-- a buffer of its own name (`stays`), or it is renamed in the graph itself: the stream's name goes before its name, or
-- a number after it. This repeats, with walks through the passes of training and of evaluation, until every read finds
-- the right value.

local backward = require("network.lists.backward")
local buffers = require("network.lists.buffers")
local diagnostics = require("base.diagnostics")
local fuse = require("network.lists.fuse")
local lists = require("base.lists")
local base_names = require("base.names")
local ops = require("network.graph.ops")

local M = {}

local MOST_ROUNDS = 1000

-- Names in a workspace other than its buffers.
local RESERVED = lists.split_set([[step block parameters shared length sequences tokens rows all read vocabulary
  token_vectors token_scratch position position_scratch sums losses correct keep]])

-- Names of the arrays that device code has for each attention (cuda_buffers.lua).
local ATTENTION_BUFFERS = { "delta", "head_sums", "inverse_sum", "inverse_total", "key_bias", "key_sums", "largest",
  "log_sum", "pair_scores", "pairs", "query_sums", "starts", "weights" }

-- Marks the network's values that have no buffer of their own name.
local function mark_carried(net)
  local readers = fuse.find_readers(net.ops)
  for _, op in ipairs(net.ops) do
    local list = readers[op.out] or {}
    local taken = #list == 1 and list[1].kind == "block" and list[1].x == op.out and list[1].block
    local carried = op.out.of_stream and not op.out.stays and (taken or op.kind == "block" and #list == 1)
    op.out.carried = carried and { block = taken or false } or nil
  end
end

local function derive(net)
  local executed = { order = net.order }
  for i = #executed.order, 1, -1 do -- blocks come first, since the network's list runs them
    local scope = executed.order[i]
    local forward = fuse.fuse(scope.ops, scope.last)
    local list, at = backward.derive(forward, scope.entry, scope.last, executed)
    local written = lists.filter(lists.collect(list, buffers.list_written), function(b) return not b.outside end)
    executed[scope] = { forward = forward, backward = list, at = at, writes = lists.to_set(lists.get_names(written)) }
  end
  return executed
end

-- A walk through a forward pass, with `training` or of evaluation. holds: buffer -> its last written value; shapes:
-- buffer -> its shape; read: scope -> the values that its backward list reads; late: values that must still be in their
-- buffers when the pass ends; reserved: names that no buffer of a value may have.
local Walk = {}
Walk.__index = Walk

-- Ends the walk with a value that must be renamed or stay: `value`, which cannot have its buffer, or else `holder`, the
-- value that is in the buffer, or nil.
local function stop_at(value, holder)
  for _, v in ipairs({ value, holder }) do
    if v.carried or v.op and v ~= v.op.scope.last then
      error({ problem = true, conflict = v }, 0)
    end
  end
  error(("%s and %s would need one buffer"):format(value.name, holder and holder.name or "nothing"), 0)
end

local function get_shape(value)
  return ("%d %s"):format(value.width.count, value.stream.name)
end

-- Whether every repetition of a block keeps its input for the backward pass.
function Walk:keeps(block)
  return self.training and self.read[block][block.entry] or false
end

-- The buffer of a value, as a key of `holds`: a buffer that every repetition of a block has is "BLOCK.NAME".
function Walk:name_buffer(scope, value)
  if value.external then
    return self:name_buffer(self.net, value.external)
  elseif scope ~= self.net then
    return (self.read[scope][value] and scope.name .. "." or "") .. value.name
  elseif value.carried then
    local block = value.carried.block
    return block and self:keeps(block) and block.name .. ".input" or buffers.name_for_stream("output", value)
  end
  return value.name
end

function Walk:check_read(key, value)
  if self.holds[key] ~= value then
    stop_at(value, self.holds[key])
  end
end

function Walk:note_write(key, value)
  local shape = get_shape(value)
  self.shapes[key] = self.shapes[key] or shape
  if self.reserved[key] or self.shapes[key] ~= shape then
    stop_at(value)
  end
  self.holds[key] = value
end

-- Walks a repetition of a block, or the network itself; from, to { key, value }: the repetition's input and result,
-- with the keys of their buffers; nil for the network.
function Walk:walk_scope(scope, from, to)
  for _, op in ipairs(self.executed[scope].forward) do
    for _, value in ipairs(ops.list_read(op)) do
      if value == scope.entry and from then
        self:check_read(from.key, from.value)
      else
        self:check_read(self:name_buffer(scope, value), value.external or value)
      end
    end
    if op.kind == "block" then
      self:walk_block(op)
    elseif op.out == scope.last then
      self:note_write(to.key, to.value)
    else
      for _, value in ipairs(ops.list_results(op)) do
        self:note_write(self:name_buffer(scope, value), value)
      end
    end
  end
end

-- Checks that the values which the backward pass reads are still in their buffers at the end of the scope.
function Walk:check_kept(scope)
  for _, op in ipairs(self.executed[scope].forward) do
    for _, value in ipairs(ops.list_results(op)) do
      if self.read[scope][value] and value ~= scope.last and (scope ~= self.net or self.training) then
        self:check_read(self:name_buffer(scope, value), value)
      end
    end
  end
  for _, value in ipairs(self.training and scope.externals or {}) do
    self.late[#self.late + 1] = self.read[scope][value] and value.external or nil
  end
end

function Walk:walk_block(op)
  local block, keeps = op.block, self:keeps(op.block)
  local uses = math.min(block.count * block.loops, 2) -- further uses behave as the second
  local stream_output = buffers.name_for_stream("output", block.last)
  local from = { key = self:name_buffer(self.net, op.x), value = op.x }
  if keeps and not op.x.carried then
    self.late[#self.late + 1] = op.x
  end
  for use = 1, uses do
    local to = use == uses and { key = self:name_buffer(self.net, op.out), value = op.out }
      or { key = keeps and ("%s.input %d"):format(block.name, use) or stream_output, value = block.last }
    self:walk_scope(block, from, to)
    self:check_kept(block)
    from = to
  end
end

-- Names that no buffer of a value may have: other members of a workspace or a layer, and values that the network
-- carries to a block, which are members in device code.
local function find_reserved(net, executed)
  local of_streams = lists.to_set(lists.get_names(net.streams[2] and net.streams or {}))
  local names = setmetatable(of_streams, { __index = RESERVED })
  for _, scope in ipairs(executed.order) do
    names[scope.name], names[scope.name .. "s"] = true, true
    lists.update(names, executed[scope].writes)
    for _, op in ipairs(scope.ops) do
      if op.out.carried and op.kind ~= "block" then
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

local function walk(net, executed, training)
  local w = setmetatable({ net = net, executed = executed, training = training, holds = {}, shapes = {}, read = {},
    late = {}, reserved = find_reserved(net, executed) }, Walk)
  for _, scope in ipairs(executed.order) do
    w.read[scope] = buffers.find_read(executed[scope].backward)
  end
  w:walk_scope(net)
  w:check_kept(net)
  for _, value in ipairs(w.late) do
    w:check_read(w:name_buffer(net, value), value)
  end
end

-- Checks that a buffer of gradients has the shape of every value whose gradient it holds.
local function check_gradients(executed)
  local shapes = {}
  for _, scope in ipairs(executed.order) do
    for _, op in ipairs(executed[scope].forward) do
      for _, value in ipairs(ops.list_results(op)) do
        local buffer, shape = executed[scope].at[value], get_shape(value)
        if value ~= scope.last and buffer then
          local is_own = buffer.name:find(base_names.name_gradient(value.name), 1, true) == 1
          if is_own and (shapes[buffer.name] or shape) ~= shape then
            stop_at(value)
          end
          shapes[buffer.name] = shapes[buffer.name] or shape
        end
      end
    end
  end
end

-- The value that must be renamed or stay; nil if there is none.
local function find_conflict(net, executed)
  local _, problem = diagnostics.attempt(function()
    walk(net, executed, true)
    walk(net, executed, false)
    check_gradients(executed)
  end)
  return problem and problem.conflict
end

-- Renames a value: if it is in a stream other than the first and this name is free, the stream's name goes before it,
-- as for all values of its scope that share its buffer by name, width and stream; otherwise it gets a number.
local function rename(net, value)
  local stem = value.name:gsub("_%d+$", "")
  local taken = lists.to_set(lists.collect(net.order, function(scope)
    return lists.map(scope.ops, function(op) return op.out.name end)
  end))
  taken[stem] = true
  local of_stream = ("%s_%s"):format(value.stream.name, stem)
  if value.stream.index > 0 and not taken[of_stream] and stem:sub(1, #value.stream.name) ~= value.stream.name then
    local old = value.name
    for _, op in ipairs(value.scope.ops) do
      local shares = op.out.name == old and op.out.width == value.width and op.out.stream == value.stream
      op.out.name = shares and of_stream or op.out.name
    end
  else
    value.name = base_names.find_unused(stem, taken)
  end
  for _, inner in lists.iterate_nested(net.scopes, "externals") do
    inner.name = inner.external.name
  end
end

-- Renames values that share a name with an external value of a block, since the block adds to this name's gradient.
local function name_externals(net)
  local outside = {}
  for _, inner in lists.iterate_nested(net.scopes, "externals") do
    outside[inner.name] = inner.external
  end
  for scope, op in lists.iterate_nested(net.order, "ops") do
    if op.out ~= scope.last and (outside[op.out.name] or op.out) ~= op.out then
      rename(net, op.out)
    end
  end
end

function M.derive(net)
  for _ = 1, MOST_ROUNDS do
    mark_carried(net)
    name_externals(net)
    local executed = derive(net)
    local value = find_conflict(net, executed)
    if not value then
      return executed
    elseif value.carried then
      value.stays = true
    else
      rename(net, value)
    end
  end
  error("the values of the network find no names", 0)
end

return M
