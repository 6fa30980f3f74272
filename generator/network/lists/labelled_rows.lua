-- Unused rows of a network: after the last attention of a network whose answers are read at some tokens alone, all
-- others. For these targets the last repetition of a block leaves them out.
--
-- Input: a network (builder.lua), its lists (scope_lists.lua). Output: nil where all rows are read, else
--   partial   what is done for the labelled rows alone, in the last repetition of its block: operations of the fused
--             lists, row by row; attentions, whose queries are these; entries of the backward lists
--   values    those that have only these rows there, one behind the other
--   spread    entry of a backward list -> the buffers of gradients that are spread ahead of it: from the labelled rows,
--             one behind the other, to those of all tokens, zero elsewhere; scope -> likewise at its end
--   per_token, per_pair   floating-point operations of a forward pass on a row that is left out, and on its pairs with
--             keys; pairs: the same by the name of the family
--
-- The lists are walked back from the labels: what works row by row hands on which rows of it are read, everything else
-- reads all. A value that is read both ways has all its rows, and who needs the labelled ones takes them from there.
-- Gradients come in reverse: those of labelled rows are spread when one of all rows is added or read. A scope where one
-- of labelled rows comes behind one of all rows is done whole, since the order of sums is that of the description.

local buffers = require("network.lists.buffers")
local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

-- ---- forward ----

local find

-- One operation whose result is read at labelled rows alone.
local function find_partial(found, executed, op)
  local flops = ops.flops(op)
  if ops[op.kind].by_row then
    found.per_token, found.partial[op] = found.per_token + (flops.token or 0), true
    for _, value in ipairs(ops.results(op)) do
      found.values[value] = true
    end
  elseif op.kind == "attention" then
    found.per_pair, found.pairs[op.family.name] = found.per_pair + flops.pair, flops.pair
    found.partial[op] = true
  elseif op.kind == "block" then
    find(found, executed, op.block)
    found.values[op.out] = found.values[op.block.last]
  end
end

-- Operations of a scope that run for the labelled rows alone: a block's result is read there, the network's logits.
function find(found, executed, scope)
  local whole, list = {}, executed[scope].forward
  if found.whole[scope] then
    return
  end
  found.scopes[#found.scopes + 1] = scope
  for i = #list, 1, -1 do
    local op = list[i]
    local partly = not whole[op.out] and not (op.sum and whole[op.sum])
    if partly then
      find_partial(found, executed, op)
    end
    local by_row = op.kind == "classify" or partly and ops[op.kind].by_row
    for _, value in ipairs(by_row and {} or ops.read_values(op)) do
      whole[value] = true
    end
  end
end

-- ---- backward ----

-- compact: names of the buffers that hold gradients of labelled rows now.
local Walk = {}
Walk.__index = Walk

-- A buffer is read or added to, at all rows or at labelled ones; whether it has them.
function Walk:takes(buffer, partly, at)
  if partly then
    return self.compact[buffer.name] or false
  elseif self.compact[buffer.name] then
    self.found.spread[at] = self.found.spread[at] or {}
    table.insert(self.found.spread[at], buffer)
    self.compact[buffer.name] = nil
  end
  return true
end

function Walk:stores(buffer, partly)
  self.compact[buffer.name] = partly or nil
end

-- An entry of the list; whether its gradients come in an order that can be.
function Walk:entry(b)
  local found, op = self.found, b.op
  local partly = op and found.partial[op] and ops[op.kind].by_row or false
  if b.kind == "classify_grad" then
    self:stores(b.to, found.values[op.x])
    return true
  elseif b.kind == "block_grad" then
    local fits = self:takes(b.dy, found.values[op.out] or false, b)
    self:stores(b.dy, false)
    return fits
  elseif b.kind == "copy" or b.kind == "accumulate" then
    partly = self.compact[b.from.name] and (b.kind == "copy" or self.compact[b.to.name]) or false
  end
  found.partial[b] = partly or nil
  local read = { b.from or b.dy, (b.adds or b.kind == "accumulate") and b.to or nil }
  if lists.any(read, function(buffer) return not self:takes(buffer, partly, b) end) then
    return false
  end
  for _, buffer in ipairs(buffers.written(b)) do
    self:stores(buffer, partly)
  end
  return true
end

local function walk(found, executed, scope)
  local w = setmetatable({ found = found, compact = {} }, Walk)
  if scope.last then
    w:stores({ name = buffers.of_stream("gradient", scope.last) }, found.values[scope.last])
  end
  local fits = not lists.any(executed[scope].backward, function(b) return not w:entry(b) end)
  if fits and scope.entry then
    w:takes({ name = buffers.of_stream("gradient", scope.entry), width = scope.entry.width }, false, scope)
  end
  return fits
end

-- ---- both ----

-- With the scopes that are done whole; nil where one more has to be.
local function derive(net, executed, whole)
  local found = { partial = {}, values = {}, spread = {}, scopes = {}, whole = whole,
    per_token = 0, per_pair = 0, pairs = {} }
  find(found, executed, net)
  local unfit = lists.find(found.scopes, function(scope) return not walk(found, executed, scope) end)
  if not unfit then
    return found
  end
  whole[unfit] = true
end

-- A target is read out at every token, and of several streams it is one.
function M.derive(net, executed)
  local found, whole = nil, {}
  while not net.streams[2] and not found do
    found = derive(net, executed, whole)
  end
  return found and found.values[net.classified.op.x] and found or nil
end

return M
