-- The operations of a training step for users: the lists of scope_lists.lua, which both targets execute.
--
-- Input: a network (builder.lua), its lists, its buffers (buffers.lua). Output, pure data: a list of scopes, the
-- network first:
--   scope      { name, count, times, about, forward, backward }; count and times as in outline.lua
--   operation  { kind, name, words, reads, shape, parameters, per_token, per_pair, stream, keys, buffers }
-- name: the name of the result in generated code: a value, the buffer of a gradient, or a parameter whose gradient is
-- written. reads: the names of the operands in generated code. shape: { rows, columns }, rows also "tokens", "labels"
-- or "STREAM.tokens"; or nil. parameters: how many learned numbers. per_...: floating-point operations for a token and
-- for a pair of tokens; their sums over both lists are three times the sums of outline.lua. stream and keys: as in
-- outline.lua. buffers: names of the buffers whose first writer is the operation. The forward list of a block whose
-- backward pass reads the input of a repetition begins with an entry of kind "input". Numbers of scores that all layers
-- share are an entry of kind "score" of the network.

local buffers = require("network.lists.buffers")
local lists = require("base.lists")
local ops = require("network.graph.ops")
local outline = require("network.graph.outline")
local cpu_buffers = require("network.targets.cpu_buffers")

local M = {}

-- The name of a value's buffer; blocks' results that are read once share the buffer of their stream.
local function get_name(value)
  local is_carried_result = value.op and value.op.kind == "block" and value.carried
  return value.input and "input" or is_carried_result and buffers.name_for_stream("output", value) or value.name
end

local function list_operands(op)
  return lists.map(ops.list_read(op), get_name)
end

local function get_shape(net, value)
  return { cpu_buffers.get_prefix(net, value.stream) .. "tokens", value.width.shown or value.width.count }
end

local function describe_sum(op)
  return op.dropout and "sum with dropout" or "sum"
end

local words = {
  product = function(op)
    return ("product with %s%s%s%s"):format(op.weight, op.p.bias and ", bias" or "", op.relu and ", relu" or "",
      op.dropout and ", dropped out" or "")
  end,
  add = describe_sum,
  add_norm = function(op) return describe_sum(op) .. ", " .. ops.norm.words(op) end,
  block = function(op) return "all repetitions of " .. op.block.name end,
}

-- An entry without work.
local function make_entry(kind, name, what, reads, shape)
  return { kind = kind, name = name, words = what, reads = reads, shape = shape, parameters = 0, per_token = 0,
    per_pair = 0, stream = 0, keys = 0, buffers = {} }
end

local function add_flops(e, op, factor)
  local flops = ops.count_flops(op)
  e.per_token, e.per_pair = factor * (flops.token or 0), factor * (flops.pair or 0)
  e.stream, e.keys = op.out.stream.index, (op.kv or op.out).stream.index
end

local function describe_forward(net, op, seen)
  local name = op.sum and op.sum.name .. ", " .. op.out.name or get_name(op.out)
  local describe = words[op.kind] or ops[op.kind].words
  local e = make_entry(op.kind, name, describe(op), list_operands(op), get_shape(net, op.out))
  if op.kind == "classify" then
    e.shape[1] = "labels"
  end
  e.parameters = outline.count_learned(op, seen)
  add_flops(e, op, 1)
  return e
end

-- Each function returns the words for a backward operation, the values that the operation reads in addition to the
-- gradient `dy`, and its work as a multiple of the forward operation's work (nil if there is none).
local back = {
  norm_grad = function(b)
    return "gradient of " .. b.op.name .. (b.dbranch and ", dropout" or ""), { b.op.name .. "_xhat" }
  end,
  dropout_grad = function(b) return "gradient behind dropout", { b.op.keep } end,
  weight_grad = function(b)
    return "gradient of the weight" .. (b.op.p.bias and " and its bias" or ""), { get_name(b.x) }, 1
  end,
  input_grad = function(b)
    return "through " .. b.op.weight .. (b.relu and ", relu" or ""), { b.relu and get_name(b.relu) or nil }, 1
  end,
  relu_grad = function(b) return "gradient of relu", { get_name(b.op.out) } end,
  attention_grad = function(b)
    return "gradient of attention " .. b.op.family.name, lists.join(list_operands(b.op), { get_name(b.op.out) }), 2
  end,
  accumulate = function(b) return "sum", { b.from.name } end,
  copy = function(b) return "copy", { b.from.name } end,
  clear = function() return "zeros", {} end,
  classify_grad = function(b) return "gradient of the loss", { get_name(b.op.x) } end,
  block_grad = function(b) return ("all repetitions of %s, the last one first"):format(b.op.block.name), {} end,
  embed_grad = function() return "gradient of the tokens' vectors", {} end,
  place_grad = function(b)
    local learned = b.op.p and not b.op.p.frozen
    return (b.to and "gradient behind dropout" or "") .. (b.to and learned and ", and " or "")
      .. (learned and "gradient of the positions' vectors" or ""), { b.op.keep }
  end,
}

-- Gradients of operations over the rows of one value read the value again.
for kind, about in next, ops.list_row_operations() do
  back[kind .. "_grad"] = function(b) return "gradient of " .. about.base_words(b.op), list_operands(b.op) end
end

local function describe_backward(net, b)
  local what, reads, factor = back[b.kind](b)
  local writes, p = b.kind == "block_grad" and { b.dy } or buffers.list_written(b), b.op and b.op.p
  local name, shape = table.concat(lists.get_names(writes), ", "), writes[1] and get_shape(net, writes[1])
  if b.kind == "weight_grad" then
    name, shape = b.op.weight, { p.rows.count, p.columns.count }
  elseif (b.kind == "embed_grad" or b.kind == "place_grad") and not b.to then
    name = p.name
  end
  if b.dy then
    table.insert(reads, 1, b.dy.name)
  end
  local e = make_entry(b.kind, name, what .. (b.adds and ", added" or ""), reads, shape)
  if factor then
    add_flops(e, b.op, factor)
  end
  return e
end

-- Returns writer -> names of the buffers whose first writer it is, in order. A repetition's input has no writer: its
-- buffer is under the scope's list of kept buffers.
local function index_by_writer(buffer_lists, executed)
  local by = {}
  for _, b in ipairs(buffer_lists.workspace) do
    lists.append_to(by, b.writer, b.name)
  end
  for _, scope in ipairs(executed.order) do
    local kept = buffer_lists.scopes[scope].kept
    for _, b in ipairs(kept) do
      lists.append_to(by, b.writer or kept, b.name or b.family.name)
    end
    for _, b in ipairs(executed[scope].backward) do -- an attention's workspace per head, and positions of sequences
      if b.kind == "attention_grad" then
        lists.append_to(by, b, b.op.family.name .. "_scratch")
      elseif b.kind == "embed_grad" then
        lists.append_to(by, b.op, b.op.stream.name .. "_position")
      end
    end
  end
  return by
end

local function describe_scope(net, scope, executed, buffer_lists, by, seen)
  local forward, backward, kept = {}, {}, buffer_lists.scopes[scope].kept
  if by[kept] then
    forward[1] = make_entry("input", "input", "output of the repetition before", {}, get_shape(net, scope.entry))
    forward[1].buffers = by[kept]
  end
  for _, op in ipairs(executed[scope].forward) do
    forward[#forward + 1] = describe_forward(net, op, seen)
    forward[#forward].buffers = by[op] or {}
  end
  for i, b in ipairs(executed[scope].backward) do
    backward[i] = describe_backward(net, b)
    backward[i].buffers = by[b] or {}
  end
  return { name = scope.name, count = scope.count, times = scope.count * scope.loops, about = scope.comment,
    forward = forward, backward = backward }
end

function M.derive(net, executed, buffer_lists)
  local by, seen = index_by_writer(buffer_lists, executed), {}
  local scopes = lists.map(net.order, function(scope)
    return describe_scope(net, scope, executed, buffer_lists, by, seen)
  end)
  local shared = outline.count_shared(net)
  if shared > 0 then
    local e = make_entry("score", "score", "numbers that all layers share", {})
    e.parameters = shared
    table.insert(scopes[1].forward, e)
  end
  return scopes
end

return M
