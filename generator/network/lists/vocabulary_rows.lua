-- Finds the operations that compute equal rows for all tokens with the same symbol. If a block's input is an embedding
-- without added positions and without dropout, a row in the block's first repetition depends only on the token's symbol
-- until attention mixes tokens. The CPU computes such rows once for each symbol of the vocabulary, and copies them to
-- the tokens. Rows for symbols are called rows of the vocabulary. An operation runs
--   by symbol        if it computes rows of the vocabulary
--   for all tokens   if it computes a row for each token
--
-- Input: a network (builder.lua), its lists (scope_lists.lua), and its labelled rows (labelled_rows.lua) or nil.
-- Operations on labelled rows alone are not computed by symbol. Output: nil if no operation can run by symbol, else
--   block       the block whose first repetition computes rows by symbol
--   embed       the operation that makes the block's input
--   by_symbol   the set of the work that runs by symbol: operations of the block's fused list, and entries of its
--               backward list
--   repeated    the set of the values whose rows of the vocabulary are copied to all tokens, after the operation that
--               makes the value
--   summed      entry of the backward list -> the list of the buffers of gradients that are summed by symbol before the
--               entry; block -> the list of the buffers of gradients that are summed at the block's end
--   width       the width of the widest copied or summed value
--   row_flops_texts   list of C texts: for each operation that runs by symbol, the number of floating-point operations
--               that a forward pass saves for an omitted row
--
-- The block's input has a buffer for each kind of rows. Another value has one buffer. In this buffer, copies for all
-- tokens overwrite the vocabulary's rows. So if one reader of such a value runs for all tokens, all its readers do.
--
-- In the backward pass, the buffer of a gradient has the rows of all tokens, or the vocabulary's rows:
--   rows of all tokens    The buffer is summed by symbol before an entry that runs by symbol reads it or adds to it.
--   vocabulary's rows     An entry that runs for all tokens cannot read the buffer or add to it, since gradients would
--                         be added in another order. If an entry of the block would have to do so, no operation of
--                         the block runs by symbol.

local buffers = require("network.lists.buffers")
local lists = require("base.lists")
local ops = require("network.graph.ops")
local scope_lists = require("network.lists.scope_lists")

local M = {}

-- Records the width of a copied or summed value: result.width is the widest so far.
local function note_width(result, width)
  if not result.width or result.width.count < width.count then
    result.width = width
  end
end

-- The set of the operations that run by symbol. labelled: the labelled rows (labelled_rows.lua), or nil;
-- token_operations: the set of operations that must run for all tokens.
local function select_operations(block, list, labelled, token_operations)
  local values, symbol_operations = { [block.input_value] = true }, {} -- values: the values that have rows by symbol
  for _, op in ipairs(list) do
    local needs_tokens = not ops[op.kind].is_by_row or op.dropout or op.out == block.output_value
      or labelled and labelled.labelled_work[op]
      or lists.any(ops.list_read(op), function(value) return not values[value] end)
    if not needs_tokens and not token_operations[op] then
      symbol_operations[op] = true
      lists.update(values, lists.to_set(ops.list_results(op)))
    end
  end
  return symbol_operations
end

-- The set of the values that operations on all tokens read.
local function find_token_values(list, symbol_operations)
  return lists.to_set(lists.collect(list, function(op) return symbol_operations[op] and {} or ops.list_read(op) end))
end

-- Adds to token_operations each operation that reads a value which another operation reads for all tokens. Returns
-- whether there are such operations.
local function add_token_operations(block, list, symbol_operations, token_operations)
  local is_token_value = find_token_values(list, symbol_operations)
  local readers = lists.filter(list, function(op)
    return symbol_operations[op]
      and lists.any(ops.list_read(op), function(value) return value ~= block.input_value and is_token_value[value] end)
  end)
  lists.update(token_operations, lists.to_set(readers))
  return readers[1] ~= nil
end

-- Finds the operations of a block that run by symbol, and the values whose rows are copied to all tokens. result: the
-- table that M.derive returns, with its block.
local function find_symbol_operations(result, list, labelled)
  local token_operations = {}
  repeat
    result.by_symbol = select_operations(result.block, list, labelled, token_operations)
  until not add_token_operations(result.block, list, result.by_symbol, token_operations)
  local is_token_value = find_token_values(list, result.by_symbol)
  local symbol_list = lists.filter(list, function(op) return result.by_symbol[op] end)
  result.row_flops_texts = lists.collect(symbol_list, function(op) return { ops.count_flops(op).text } end)
  for _, value in ipairs(lists.collect(symbol_list, ops.list_results)) do
    if is_token_value[value] then
      result.repeated[value] = true
      note_width(result, value.width)
    end
  end
end

-- A walk through the backward list. result: the table that M.derive returns; symbol_buffers: the set of the names of
-- buffers that hold gradients of the vocabulary's rows at this point of the list.
local Walk = {}
Walk.__index = Walk

-- Records that an entry reads a buffer or adds to it. Returns whether the buffer has the rows that the entry needs.
-- runs_by_symbol: whether the entry runs by symbol; if so, a buffer with rows of all tokens is summed before.
function Walk:note_read(buffer, runs_by_symbol, entry)
  if runs_by_symbol and not self.symbol_buffers[buffer.name] then
    lists.append_to(self.result.summed, entry, buffer)
    note_width(self.result, buffer.width)
    self.symbol_buffers[buffer.name] = true
  end
  return runs_by_symbol or not self.symbol_buffers[buffer.name]
end

-- Whether an entry of the list runs by symbol. If the result of relu was copied to all tokens, the gradient of relu
-- reads the copies and runs for all tokens.
function Walk:runs_by_symbol(entry)
  if entry.kind == "copy" or entry.kind == "accumulate" then
    local adds_to_symbols = entry.kind == "accumulate" and self.symbol_buffers[entry.to.name]
    return self.symbol_buffers[entry.from.name] or adds_to_symbols or false
  end
  local is_copied = entry.kind == "relu_grad" and self.result.repeated[entry.op.out]
  return entry.op ~= nil and not is_copied and self.result.by_symbol[entry.op] or false
end

-- Walks an entry of the list; returns whether the buffers that it reads have the rows that it needs.
function Walk:walk_entry(entry)
  local runs_by_symbol = self:runs_by_symbol(entry)
  if entry.kind == "accumulate" and runs_by_symbol and not self.symbol_buffers[entry.from.name] then
    return false -- `from` has rows of all tokens, `to` has the vocabulary's rows
  end
  local read_buffers = { entry.from or entry.dy, (entry.is_added or entry.kind == "accumulate") and entry.to or nil }
  if lists.any(read_buffers, function(buffer) return not self:note_read(buffer, runs_by_symbol, entry) end) then
    return false
  end
  self.result.by_symbol[entry] = runs_by_symbol or nil
  for _, buffer in ipairs(buffers.list_written(entry)) do
    self.symbol_buffers[buffer.name] = runs_by_symbol or nil
  end
  return true
end

-- The embedding without positions and without dropout whose only reader is a block, as its input; nil if there is none.
-- list: the network's backward list.
local function find_embedding(list)
  for i, entry in ipairs(list) do
    local op, earlier_entry = entry.op, list[i - 1] or {}
    local is_plain = entry.kind == "embed_grad" and not op.dropout and (not op.encoding or op.encoding.kind == "none")
    if is_plain and earlier_entry.kind == "block_grad" and earlier_entry.op.x == op.out and op.out.carried then
      return op
    end
  end
end

-- Derives the output of this module. labelled: the labelled rows (labelled_rows.lua), or nil.
function M.derive(net, lists_by_scope, labelled)
  local embed = not net.streams[2] and find_embedding(lists_by_scope[net].backward)
  if not embed then
    return nil
  end
  local block = scope_lists.find_block_storing(embed.out)
  if block.is_group then
    return nil
  end
  local result = { block = block, embed = embed, by_symbol = {}, repeated = {}, summed = {} }
  find_symbol_operations(result, lists_by_scope[block].forward, labelled)
  local walk, input = setmetatable({ result = result, symbol_buffers = {} }, Walk), block.input_value
  local is_supported = result.row_flops_texts[1] ~= nil
    and not lists.any(lists_by_scope[block].backward, function(entry) return not walk:walk_entry(entry) end)
  local gradient = { name = buffers.name_for_stream("gradient", input), width = input.width }
  return is_supported and walk:note_read(gradient, true, block) and result or nil
end

return M
