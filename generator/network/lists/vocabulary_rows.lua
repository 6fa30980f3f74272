-- Equal rows of a network. In the first repetition of a block, rows depend only on the token's symbol until attention
-- mixes tokens, if the block's input is an embedding without added positions and without dropout. The CPU computes
-- such rows once for each symbol of the vocabulary and copies them to the tokens; gradients are first summed by symbol.
--
-- Input: a network (builder.lua), its lists (scope_lists.lua), its labelled rows (labelled_rows.lua) or nil:
-- labelled_rows.lua handles operations on labelled rows alone. Output: nil if no product is saved, else
--   block       the block whose first repetition computes rows by symbol; embed: the operation that makes its input
--   done        the set of the work on the vocabulary's rows alone: operations of the block's fused list, entries of
--               its backward list
--   repeated    value -> true: the value's rows are copied to the rows of all tokens, after the operation that makes it
--   summed      entry of the backward list -> the buffers of gradients that are summed by symbol before it; block ->
--               the buffers of gradients that are summed at the block's end
--   width       the width of the widest copied or summed value
--   token_texts floating-point operations of a forward pass on an omitted row, a text in C for each operation
--
-- A value has the vocabulary's rows or the rows of all tokens; only the block's input has both. An operation runs for
-- all tokens if one of its operands is read for all tokens elsewhere. Gradients come in reverse: a gradient of all
-- tokens is summed by symbol when a gradient of the vocabulary's rows is made from it or is added to it. If a gradient
-- of all tokens would be added to a gradient of the vocabulary's rows, the block is computed whole, to preserve the
-- order of sums.

local buffers = require("network.lists.buffers")
local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

-- Records the width of a copied or summed value.
local function note_width(found, width)
  if not found.width or found.width.count < width.count then
    found.width = width
  end
end

-- The set of the operations that run for the vocabulary. part: the labelled rows (labelled_rows.lua), or nil; barred:
-- the set of operations that must run for all tokens.
local function select(block, list, part, barred)
  local values, done = { [block.entry] = true }, {}
  for _, op in ipairs(list) do
    local whole = not ops[op.kind].by_row or op.dropout or op.out == block.last or part and part.partial[op]
    whole = whole or lists.any(ops.list_read(op), function(value) return not values[value] end)
    if not whole and not barred[op] then
      done[op] = true
      lists.update(values, lists.to_set(ops.list_results(op)))
    end
  end
  return done
end

-- Values that an operation on all tokens reads.
local function find_read_whole(list, done)
  return lists.to_set(lists.collect(list, function(op) return done[op] and {} or ops.list_read(op) end))
end

-- Bars the readers of a value that others read for all tokens; returns whether a reader was barred.
local function bar_readers(block, list, done, barred)
  local read = find_read_whole(list, done)
  local found = lists.filter(list, function(op)
    return done[op] and lists.any(ops.list_read(op), function(value) return value ~= block.entry and read[value] end)
  end)
  lists.update(barred, lists.to_set(found))
  return found[1] ~= nil
end

-- Finds the operations of a block that run for the vocabulary, and the values whose rows are copied to all tokens.
local function find(found, list, part)
  local barred = {}
  repeat
    found.done = select(found.block, list, part, barred)
  until not bar_readers(found.block, list, found.done, barred)
  local read = find_read_whole(list, found.done)
  local done = lists.filter(list, function(op) return found.done[op] end)
  found.token_texts = lists.collect(done, function(op) return { ops.count_flops(op).text } end)
  for _, value in ipairs(lists.collect(done, ops.list_results)) do
    if read[value] then
      found.repeated[value] = true
      note_width(found, value.width)
    end
  end
end

-- A walk through the backward list. summed: names of buffers that now hold gradients of the vocabulary's rows.
local Walk = {}
Walk.__index = Walk

-- Records that an entry reads a buffer or adds to it, for the vocabulary (done) or for all tokens; returns whether the
-- buffer has these rows, if necessary after it is summed.
function Walk:note_read(buffer, done, entry)
  if done and not self.summed[buffer.name] then
    lists.append_to(self.found.summed, entry, buffer)
    note_width(self.found, buffer.width)
    self.summed[buffer.name] = true
  end
  return done or not self.summed[buffer.name]
end

-- Whether an entry of the list runs for the vocabulary. A rectified value that was copied to all tokens is read for all
-- tokens.
function Walk:is_done(b)
  if b.kind == "copy" or b.kind == "accumulate" then
    return self.summed[b.from.name] or b.kind == "accumulate" and self.summed[b.to.name] or false
  end
  local copied = b.kind == "relu_grad" and self.found.repeated[b.op.out]
  return b.op ~= nil and not copied and self.found.done[b.op] or false
end

-- Walks an entry of the list; returns whether its gradients come in a supported order.
function Walk:walk_entry(b)
  local done = self:is_done(b)
  if b.kind == "accumulate" and done and not self.summed[b.from.name] then
    return false -- the buffer `from` holds gradients of all tokens
  end
  local read = { b.from or b.dy, (b.adds or b.kind == "accumulate") and b.to or nil }
  if lists.any(read, function(buffer) return not self:note_read(buffer, done, b) end) then
    return false
  end
  self.found.done[b] = done or nil
  for _, buffer in ipairs(buffers.list_written(b)) do
    self.summed[buffer.name] = done or nil
  end
  return true
end

-- The embedding, if no other operation reads the gradient that a block leaves; otherwise nil.
local function find_embedding(list)
  for i, b in ipairs(list) do
    local op, before = b.op, list[i - 1]
    local plain = b.kind == "embed_grad" and not op.dropout and (not op.encoding or op.encoding.kind == "none")
    if plain and before and before.kind == "block_grad" and before.op.x == op.out and op.out.carried then
      return op
    end
  end
end

function M.derive(net, executed, part)
  local embed = not net.streams[2] and find_embedding(executed[net].backward)
  if not embed then
    return nil
  end
  local block = embed.out.carried.block
  local found = { block = block, embed = embed, done = {}, repeated = {}, summed = {} }
  find(found, executed[block].forward, part)
  local walk, input = setmetatable({ found = found, summed = {} }, Walk), block.entry
  local fits = found.token_texts[1] ~= nil
    and not lists.any(executed[block].backward, function(b) return not walk:walk_entry(b) end)
  local gradient = { name = buffers.name_for_stream("gradient", input), width = input.width }
  return fits and walk:note_read(gradient, true, block) and found or nil
end

return M
