-- Unused rows of a network whose answers are read at some tokens alone. After the network's last attention only the
-- labelled rows are used: the CPU leaves the other rows out in the last repetition of a block.
--
-- Input: a network (builder.lua), its lists (scope_lists.lua). Output: nil if all rows are read, else
--   partial   the set of the work on the labelled rows alone, after blocks or in a block's last repetition: operations
--             of fused lists and entries of backward lists that run row by row; attentions, for labelled queries
--   values    the set of the values of which that work stores only labelled rows, one after another
--   spread    entry of a backward list -> the buffers of gradients that are spread before it: the labelled rows move to
--             their places among the rows of all tokens, and other rows are zero; scope -> buffers spread at its end
--   token_texts, pair_texts   floating-point operations of a forward pass on an unused row, and on each pair of the row
--             with a key, as lists of texts in C, one for each operation; pairs: the latter as numbers, by family
--
-- The lists are walked backwards from the labels. If only some rows of a result are read, an operation that works row
-- by row reads only the same rows; every other operation reads all rows. A value with both kinds of readers has all its
-- rows, and its labelled rows are copied from them. Gradients come in reverse: a gradient of labelled rows is spread
-- when a gradient of all rows is added to it, or when all its rows are read. A scope in which a gradient of labelled
-- rows follows a gradient of all rows is computed whole, to preserve the order of sums.

local buffers = require("network.lists.buffers")
local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

local find

-- Records an operation whose result is read at labelled rows alone.
local function find_partial(found, executed, op)
  local flops = ops.count_flops(op)
  if ops[op.kind].by_row then
    found.partial[op] = true
    if flops.token then
      table.insert(found.token_texts, 1, flops.text)
    end
    lists.update(found.values, lists.to_set(ops.list_results(op)))
  elseif op.kind == "attention" then
    found.pairs[op.family.name] = flops.pair
    table.insert(found.pair_texts, 1, flops.text)
    found.partial[op] = true
  elseif op.kind == "block" then
    find(found, executed, op.block)
    found.values[op.out] = found.values[op.block.last]
  end
end

-- Finds the operations of a scope on labelled rows alone, if its result is read at labelled rows alone.
function find(found, executed, scope)
  local read_whole, list = {}, executed[scope].forward
  if found.whole[scope] then
    return
  end
  found.scopes[#found.scopes + 1] = scope
  for i = #list, 1, -1 do
    local op = list[i]
    local partly = not read_whole[op.out] and not (op.sum and read_whole[op.sum])
    if partly then
      find_partial(found, executed, op)
    end
    local by_row = op.kind == "classify" or partly and ops[op.kind].by_row
    lists.update(read_whole, lists.to_set(by_row and {} or ops.list_read(op)))
  end
end

-- A walk through a backward list. compact: names of the buffers that hold gradients of labelled rows at this point.
local Walk = {}
Walk.__index = Walk

-- Records that an entry reads a buffer or adds to it, at all rows or at labelled rows (partly); returns whether the
-- buffer has these rows, if necessary after it is spread.
function Walk:note_read(buffer, partly, entry)
  if partly then
    return self.compact[buffer.name] or false
  elseif self.compact[buffer.name] then
    lists.append_to(self.found.spread, entry, buffer)
    self.compact[buffer.name] = nil
  end
  return true
end

function Walk:note_write(buffer, partly)
  self.compact[buffer.name] = partly or nil
end

-- Walks an entry of the list; returns whether its gradients come in a supported order.
function Walk:walk_entry(b)
  local found, op = self.found, b.op
  local partly = op and found.partial[op] and ops[op.kind].by_row or false
  if b.kind == "classify_grad" then
    self:note_write(b.to, found.values[op.x])
    return true
  elseif b.kind == "block_grad" then
    local fits = self:note_read(b.dy, found.values[op.out] or false, b)
    self:note_write(b.dy, false)
    return fits
  elseif b.kind == "copy" or b.kind == "accumulate" then
    partly = self.compact[b.from.name] and (b.kind == "copy" or self.compact[b.to.name]) or false
  end
  found.partial[b] = partly or nil
  local read = { b.from or b.dy, (b.adds or b.kind == "accumulate") and b.to or nil }
  if lists.any(read, function(buffer) return not self:note_read(buffer, partly, b) end) then
    return false
  end
  for _, buffer in ipairs(buffers.list_written(b)) do
    self:note_write(buffer, partly)
  end
  return true
end

-- Finds the work on labelled rows in a scope's backward list; returns whether gradients come in a supported order.
local function walk_backward(found, executed, scope)
  local w = setmetatable({ found = found, compact = {} }, Walk)
  if scope.last then
    w:note_write({ name = buffers.name_for_stream("gradient", scope.last) }, found.values[scope.last])
  end
  local fits = not lists.any(executed[scope].backward, function(b) return not w:walk_entry(b) end)
  if fits and scope.entry then
    w:note_read({ name = buffers.name_for_stream("gradient", scope.entry), width = scope.entry.width }, false, scope)
  end
  return fits
end

-- Derives the result. whole: the set of the scopes that are computed whole; if another must be, it is added to the set,
-- and the result is nil.
local function derive(net, executed, whole)
  local found = { partial = {}, values = {}, spread = {}, scopes = {}, whole = whole,
    pairs = {}, token_texts = {}, pair_texts = {} }
  find(found, executed, net)
  local unfit = lists.find(found.scopes, function(scope) return not walk_backward(found, executed, scope) end)
  if not unfit then
    return found
  end
  whole[unfit] = true
end

-- Finds the work on labelled rows. In a network with several streams, every token of the target is read.
function M.derive(net, executed)
  local found, whole = nil, {}
  while not net.streams[2] and not found do
    found = derive(net, executed, whole)
  end
  return found and found.values[net.classified.op.x] and found or nil
end

return M
