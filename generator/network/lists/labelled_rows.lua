-- Finds the operations of a network whose results are needed only on labelled rows. Labelled rows are the rows of the
-- tokens at which answers are read. After the last attention no other rows are used, so the CPU omits them.
--
-- Input: a network (builder.lua), its lists (scope_lists.lua). Output: nil if all rows are needed, else
--   labelled_work   the set of the operations of fused lists, and of the entries of backward lists, that work on
--             labelled rows alone. Attentions in this set compute labelled queries alone. In a block, only the last
--             repetition omits the other rows
--   values    the set of the values of which only labelled rows are computed, and stored one after another
--   expansions   entry of a backward list -> the list of the buffers of gradients that are expanded before the entry;
--             scope -> the list of the buffers that are expanded at the scope's end. Expanding a buffer moves its
--             labelled rows to their places among the rows of all tokens, and sets the other rows to zero
--   row_flops_texts    list of C texts: for each row-by-row operation of labelled_work, the number of floating-point
--             operations that a forward pass saves for an omitted row, such as "2.0 * WIDTH * WIDTH"
--   pair_flops_texts   list of C texts: for each attention of labelled_work, the number of floating-point operations
--             that a forward pass saves for a pair of an omitted row and a key
--   pair_flops    name of a family -> the number that its text in pair_flops_texts computes; false for a family without
--             an attention in labelled_work
--
-- Forward lists are walked backwards from the labels. An operation that works row by row reads only labelled rows if
-- only labelled rows of its result are read. Every other operation reads all rows. If a value has both kinds of
-- readers, all its rows are computed, and copies of the labelled rows are made.
--
-- In the backward pass, the buffer of a gradient has labelled rows alone, or all rows:
--   labelled rows   The buffer is expanded before an entry that works on all rows reads it or adds to it.
--   all rows        An entry that works on labelled rows cannot read the buffer or add to it. If an entry of a scope
--                   would have to do so, the scope is computed for all rows instead.

local buffers = require("network.lists.buffers")
local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

local find_in_scope

-- Records an operation of whose result only labelled rows are read. result: the table that M.derive returns.
local function record_partial(result, lists_by_scope, op)
  local flops = ops.count_flops(op)
  if ops[op.kind].is_by_row then
    result.labelled_work[op] = true
    if flops.token then
      table.insert(result.row_flops_texts, 1, flops.text)
    end
    lists.update(result.values, lists.to_set(ops.list_results(op)))
  elseif op.kind == "attention" then
    result.pair_flops[op.family.name] = flops.pair
    table.insert(result.pair_flops_texts, 1, flops.text)
    result.labelled_work[op] = true
  elseif op.kind == "block" then
    find_in_scope(result, lists_by_scope, op.block)
    result.values[op.out] = result.values[op.block.output_value]
  end
end

-- Finds the operations of a scope that work on labelled rows alone. Only labelled rows of the scope's result are read.
function find_in_scope(result, lists_by_scope, scope)
  local is_read_whole, list = {}, lists_by_scope[scope].forward -- is_read_whole: values whose rows are all read
  if result.whole_scopes[scope] then
    return
  end
  result.scopes[#result.scopes + 1] = scope
  for i = #list, 1, -1 do
    local op = list[i]
    local is_partial = not is_read_whole[op.out] and not (op.sum and is_read_whole[op.sum])
    if is_partial then
      record_partial(result, lists_by_scope, op)
    end
    local reads_labelled_rows = op.kind == "classify" or is_partial and ops[op.kind].is_by_row
    lists.update(is_read_whole, lists.to_set(reads_labelled_rows and {} or ops.list_read(op)))
  end
end

-- A walk through a backward list. result: the table that M.derive returns; labelled_buffers: the set of the names of
-- the buffers that hold gradients of labelled rows alone at this point of the list.
local Walk = {}
Walk.__index = Walk

-- Records that an entry reads a buffer or adds to it. Returns whether the buffer has the rows that the entry needs.
-- is_partial: whether the entry works on labelled rows alone; if not, a buffer of labelled rows is expanded before.
function Walk:note_read(buffer, is_partial, entry)
  if is_partial then
    return self.labelled_buffers[buffer.name] or false
  elseif self.labelled_buffers[buffer.name] then
    lists.append_to(self.result.expansions, entry, buffer)
    self.labelled_buffers[buffer.name] = nil
  end
  return true
end

-- Records whether a buffer holds labelled rows alone after an entry wrote it.
function Walk:note_write(buffer, is_partial)
  self.labelled_buffers[buffer.name] = is_partial or nil
end

-- Walks an entry of the list; returns whether the buffers that it reads have the rows that it needs.
function Walk:walk_entry(entry)
  local result, op = self.result, entry.op
  local is_partial = op and result.labelled_work[op] and ops[op.kind].is_by_row or false
  if entry.kind == "classify_grad" then
    self:note_write(entry.to, result.values[op.x])
    return true
  elseif entry.kind == "block_grad" then
    local is_supported = self:note_read(entry.dy, result.values[op.out] or false, entry)
    self:note_write(entry.dy, false)
    return is_supported
  elseif entry.kind == "copy" or entry.kind == "accumulate" then
    local can_store_labelled = entry.kind == "copy" or self.labelled_buffers[entry.to.name]
    is_partial = self.labelled_buffers[entry.from.name] and can_store_labelled or false
  end
  result.labelled_work[entry] = is_partial or nil
  local read_buffers = { entry.from or entry.dy, (entry.is_added or entry.kind == "accumulate") and entry.to or nil }
  if lists.any(read_buffers, function(buffer) return not self:note_read(buffer, is_partial, entry) end) then
    return false
  end
  for _, buffer in ipairs(buffers.list_written(entry)) do
    self:note_write(buffer, is_partial)
  end
  return true
end

-- Finds the work on labelled rows in a scope's backward list; returns whether every entry has the rows that it needs.
local function walk_backward(result, lists_by_scope, scope)
  local walk = setmetatable({ result = result, labelled_buffers = {} }, Walk)
  local input, output = scope.input_value, scope.output_value
  if output then
    walk:note_write({ name = buffers.name_for_stream("gradient", output) }, result.values[output])
  end
  local is_supported = not lists.any(lists_by_scope[scope].backward, function(entry)
    return not walk:walk_entry(entry)
  end)
  if is_supported and input then
    walk:note_read({ name = buffers.name_for_stream("gradient", input), width = input.width }, false, scope)
  end
  return is_supported
end

-- Derives the output of M.derive. whole_scopes: the set of the scopes that are computed for all rows. If the walk finds
-- a further scope for this set, this function adds the scope and returns nil.
local function derive(net, lists_by_scope, whole_scopes)
  local result = { labelled_work = {}, values = {}, expansions = {}, scopes = {}, whole_scopes = whole_scopes,
    pair_flops = {}, row_flops_texts = {}, pair_flops_texts = {} }
  for _, op in ipairs(ops.find_all(net, "attention")) do
    result.pair_flops[op.family.name] = false
  end
  find_in_scope(result, lists_by_scope, net)
  local unsupported_scope = lists.find(result.scopes, function(scope)
    return not walk_backward(result, lists_by_scope, scope)
  end)
  if not unsupported_scope then
    return result
  end
  whole_scopes[unsupported_scope] = true
end

-- Derives the output of this module. Three kinds of networks have no work on labelled rows:
--   with several streams         all tokens of the target are read
--   recurrent networks           rows lie step by step
--   with a loss after each pass  only the last pass could omit rows
function M.derive(net, lists_by_scope)
  local has_pass_losses = lists.any(net.scopes, function(scope) return scope.has_pass_losses end)
  if net.streams[2] or net.is_step_major or has_pass_losses then
    return nil
  end
  local result, whole_scopes = nil, {}
  while not result do
    result = derive(net, lists_by_scope, whole_scopes)
  end
  return result.values[net.classified.op.x] and result or nil
end

return M
