-- Rows of a network that are equal for all tokens of one symbol. In the first repetition of a block, rows depend only
-- on the token's symbol until attention mixes tokens, if the block's input is an embedding without added positions and
-- without dropout. The CPU computes such rows once for each symbol of the vocabulary and copies them to the tokens;
-- gradients are first summed by symbol.
--
-- Input: a network (builder.lua), its lists (scope_lists.lua), and its labelled rows (labelled_rows.lua) or nil.
-- Operations on labelled rows alone are not computed by symbol. Output: nil if no operation is saved, else
--   block       the block whose first repetition computes rows by symbol
--   embed       the operation that makes the block's input
--   by_symbol   the set of the work on the vocabulary's rows alone: operations of the block's fused list, entries of
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
local scope_lists = require("network.lists.scope_lists")

local M = {}

-- Records the width of a copied or summed value.
local function note_width(result, width)
  if not result.width or result.width.count < width.count then
    result.width = width
  end
end

-- The set of the operations that run for the vocabulary. labelled: the labelled rows (labelled_rows.lua), or nil;
-- barred: the set of operations that must run for all tokens.
local function select_operations(block, list, labelled, barred)
  local values, by_symbol = { [block.input_value] = true }, {}
  for _, op in ipairs(list) do
    local needs_tokens = not ops[op.kind].by_row or op.dropout or op.out == block.output_value
      or labelled and labelled.labelled_work[op]
      or lists.any(ops.list_read(op), function(value) return not values[value] end)
    if not needs_tokens and not barred[op] then
      by_symbol[op] = true
      lists.update(values, lists.to_set(ops.list_results(op)))
    end
  end
  return by_symbol
end

-- The set of the values that operations on all tokens read.
local function find_token_values(list, by_symbol)
  return lists.to_set(lists.collect(list, function(op) return by_symbol[op] and {} or ops.list_read(op) end))
end

-- Bars the readers of a value that others read for all tokens; returns whether a reader was barred.
local function bar_readers(block, list, by_symbol, barred)
  local read = find_token_values(list, by_symbol)
  local readers = lists.filter(list, function(op)
    return by_symbol[op]
      and lists.any(ops.list_read(op), function(value) return value ~= block.input_value and read[value] end)
  end)
  lists.update(barred, lists.to_set(readers))
  return readers[1] ~= nil
end

-- Finds the operations of a block that run for the vocabulary, and the values whose rows are copied to all tokens.
-- result: the table that M.derive returns, with its block.
local function find_forward(result, list, labelled)
  local barred = {}
  repeat
    result.by_symbol = select_operations(result.block, list, labelled, barred)
  until not bar_readers(result.block, list, result.by_symbol, barred)
  local read = find_token_values(list, result.by_symbol)
  local symbol_list = lists.filter(list, function(op) return result.by_symbol[op] end)
  result.token_texts = lists.collect(symbol_list, function(op) return { ops.count_flops(op).text } end)
  for _, value in ipairs(lists.collect(symbol_list, ops.list_results)) do
    if read[value] then
      result.repeated[value] = true
      note_width(result, value.width)
    end
  end
end

-- A walk through the backward list. summed: names of the buffers that hold gradients of the vocabulary's rows at this
-- point.
local Walk = {}
Walk.__index = Walk

-- Records that an entry reads a buffer or adds to it, for the vocabulary (runs_by_symbol) or for all tokens; returns
-- whether the buffer has these rows, which may need a sum before the entry.
function Walk:note_read(buffer, runs_by_symbol, entry)
  if runs_by_symbol and not self.summed[buffer.name] then
    lists.append_to(self.result.summed, entry, buffer)
    note_width(self.result, buffer.width)
    self.summed[buffer.name] = true
  end
  return runs_by_symbol or not self.summed[buffer.name]
end

-- Whether an entry of the list runs for the vocabulary. If the result of relu was copied to all tokens, relu's gradient
-- reads the copies.
function Walk:runs_by_symbol(entry)
  if entry.kind == "copy" or entry.kind == "accumulate" then
    return self.summed[entry.from.name] or entry.kind == "accumulate" and self.summed[entry.to.name] or false
  end
  local is_copied = entry.kind == "relu_grad" and self.result.repeated[entry.op.out]
  return entry.op ~= nil and not is_copied and self.result.by_symbol[entry.op] or false
end

-- Walks an entry of the list; returns whether its gradients come in a supported order.
function Walk:walk_entry(entry)
  local runs_by_symbol = self:runs_by_symbol(entry)
  if entry.kind == "accumulate" and runs_by_symbol and not self.summed[entry.from.name] then
    return false -- the buffer `from` holds gradients of all tokens
  end
  local read = { entry.from or entry.dy, (entry.adds or entry.kind == "accumulate") and entry.to or nil }
  if lists.any(read, function(buffer) return not self:note_read(buffer, runs_by_symbol, entry) end) then
    return false
  end
  self.result.by_symbol[entry] = runs_by_symbol or nil
  for _, buffer in ipairs(buffers.list_written(entry)) do
    self.summed[buffer.name] = runs_by_symbol or nil
  end
  return true
end

-- The embedding whose gradient is that of a block's input and of nothing else, without positions and dropout; or nil.
local function find_embedding(list)
  for i, entry in ipairs(list) do
    local op, previous = entry.op, list[i - 1]
    local is_plain = entry.kind == "embed_grad" and not op.dropout and (not op.encoding or op.encoding.kind == "none")
    if is_plain and previous and previous.kind == "block_grad" and previous.op.x == op.out and op.out.carried then
      return op
    end
  end
end

-- lists_by_scope: the lists of all scopes; labelled: the labelled rows, or nil.
function M.derive(net, lists_by_scope, labelled)
  local embed = not net.streams[2] and find_embedding(lists_by_scope[net].backward)
  if not embed then
    return nil
  end
  local block = scope_lists.find_reader(embed.out)
  if block.is_group then
    return nil
  end
  local result = { block = block, embed = embed, by_symbol = {}, repeated = {}, summed = {} }
  find_forward(result, lists_by_scope[block].forward, labelled)
  local walk, input = setmetatable({ result = result, summed = {} }, Walk), block.input_value
  local is_supported = result.token_texts[1] ~= nil
    and not lists.any(lists_by_scope[block].backward, function(entry) return not walk:walk_entry(entry) end)
  local gradient = { name = buffers.name_for_stream("gradient", input), width = input.width }
  return is_supported and walk:note_read(gradient, true, block) and result or nil
end

return M
