-- Describes the operations of a training step (its forward and its backward pass), for pages that users read.
--
-- Input: a network (builder.lua), its lists (scope_lists.lua), which both targets execute, and its buffers
-- (buffers.lua). Output, pure data: a list of scopes, the network first:
--   name, comment   the block's name, and its comment or false
--   count, times    two numbers of repetitions, see outline.lua
--   forward, backward   the lists of the operations of a repetition
-- Fields of an operation:
--   kind        the kind of an operation of ops.lua, or of an entry of backward.lua
--   name        the name of the result in generated code: of a value, of the buffer of a gradient, or of the parameter
--               whose gradient is the result
--   description   the text for users
--   reads       the names of the operands in generated code
--   shape       the shape of the result, { rows, columns }, or nil; rows: a number, or "tokens", "labels" or
--               "STREAM.tokens", such as "source.tokens"
--   parameters  the number of learned numbers
--   per_token   the number of floating-point operations for a token
--   per_pair    the number of floating-point operations for a pair of tokens
--   stream, keys   see outline.lua
--   buffers     names of the buffers whose first writer is the operation
-- The sums of per_token and of per_pair over both lists are three times the sums in outline.lua.
-- If a block's backward pass reads the block's input, the forward list begins with an entry of kind "input".
-- If all layers share learned numbers of a score, the network's forward list ends with an entry of kind "score".

local buffers = require("network.lists.buffers")
local lists = require("base.lists")
local ops = require("network.graph.ops")
local outline = require("network.graph.outline")
local cpu_buffers = require("network.targets.cpu_buffers")

local M = {}

-- The name of a value's buffer. A carried result of a block (scope_lists.lua) is in the buffer of the stream's output.
local function get_name(value)
  local is_carried_result = value.op and value.op.kind == "block" and value.carried
  return value.is_input and "input" or is_carried_result and buffers.name_for_stream("output", value) or value.name
end

local function list_operands(op)
  return lists.map(ops.list_read(op), get_name)
end

local function get_shape(net, value)
  return { cpu_buffers.get_prefix(net, value.stream) .. "tokens", value.width.unpadded_count or value.width.count }
end

local function describe_sum(op)
  return op.dropout and "sum with dropout" or "sum"
end

-- Functions, by the kind of an operation, that return its description in the forward list. For other kinds, describe()
-- of ops.lua returns it.
local describers = {
  product = function(op)
    return ("product with %s%s%s%s"):format(op.weight, op.p.bias and ", bias" or "", op.has_relu and ", relu" or "",
      op.dropout and ", dropped out" or "")
  end,
  recur = function(op) return ("%s with input weights and recurrent weights"):format(ops.recur.describe(op)) end,
  add = describe_sum,
  add_norm = function(op) return describe_sum(op) .. ", " .. ops.norm.describe(op) end,
  block = function(op) return "all repetitions of " .. op.block.name end,
}

-- An operation of the output. Its numbers of parameters and of floating-point operations are 0; callers may set them.
local function make_entry(kind, name, text, reads, shape)
  return { kind = kind, name = name, description = text, reads = reads, shape = shape, parameters = 0, per_token = 0,
    per_pair = 0, stream = 0, keys = 0, buffers = {} }
end

-- Sets the numbers of floating-point operations of an entry: `factor` times the numbers of the forward operation `op`.
local function set_flops(entry, op, factor)
  local flops = ops.count_flops(op)
  entry.per_token, entry.per_pair = factor * (flops.token or 0), factor * (flops.pair or 0)
  entry.stream, entry.keys = op.out.stream.index, (op.kv or op.out).stream.index
end

-- The entry of a forward operation. counted_parameters: the set of the parameters that entries have counted so far, to
-- which this function adds parameters.
local function describe_forward(net, op, counted_parameters)
  local name = op.sum and op.sum.name .. ", " .. op.out.name or get_name(op.out)
  local describe = describers[op.kind] or ops[op.kind].describe
  local entry = make_entry(op.kind, name, describe(op), list_operands(op), get_shape(net, op.out))
  if op.kind == "classify" then
    entry.shape[1] = "labels"
  end
  entry.parameters = outline.count_learned(op, counted_parameters)
  set_flops(entry, op, 1)
  return entry
end

-- Functions, by the kind of an entry of a backward list, with three results:
--   the description
--   the names of the values that the entry reads in addition to the gradient `dy`
--   the factor for set_flops, nil if floating-point operations are not counted
local backward_describers = {
  norm_grad = function(item)
    return "gradient of " .. item.op.name .. (item.dbranch and ", dropout" or ""), { item.op.name .. "_xhat" }
  end,
  dropout_grad = function(item) return "gradient before dropout", { item.op.mask } end,
  weight_grad = function(item)
    return "gradient of the weight" .. (item.op.p.bias and " and its bias" or ""), { get_name(item.x) }, 1
  end,
  input_grad = function(item)
    local text = "through " .. item.op.weight .. (item.rectified_value and ", relu" or "")
    return text, { item.rectified_value and get_name(item.rectified_value) or nil }, 1
  end,
  relu_grad = function(item) return "gradient of relu", { get_name(item.op.out) } end,
  attention_grad = function(item)
    local reads = lists.join(list_operands(item.op), { get_name(item.op.out) })
    return "gradient of attention " .. item.op.family.name, reads, 2
  end,
  recur_grad = function(item)
    return "gradient through all steps, gradients of input weights and recurrent weights", { item.op.out.name }, 2
  end,
  accumulate = function(item) return "sum", { item.from.name } end,
  copy = function(item) return "copy", { item.from.name } end,
  clear = function() return "zeros", {} end,
  classify_grad = function(item) return "gradient of the loss", { get_name(item.op.x) } end,
  block_grad = function(item) return ("all repetitions of %s, the last one first"):format(item.op.block.name), {} end,
  embed_grad = function() return "gradient of the tokens' vectors", {} end,
  place_grad = function(item)
    local is_learned = item.op.p and not item.op.p.frozen
    return (item.to and "gradient before dropout" or "") .. (item.to and is_learned and ", and " or "")
      .. (is_learned and "gradient of the positions' vectors" or ""), { item.op.mask }
  end,
}

-- The gradient of an activation or of a gate also reads the operation's input.
for kind, definition in next, ops.list_row_operations() do
  backward_describers[kind .. "_grad"] = function(item)
    return "gradient of " .. definition.describe_without_dropout(item.op), list_operands(item.op)
  end
end

-- The description of an entry of a backward list.
local function describe_backward(net, item)
  local text, reads, factor = backward_describers[item.kind](item)
  local parameter = item.op and item.op.p
  local results = item.kind == "block_grad" and { item.dy } or buffers.list_written(item)
  local name, shape = table.concat(lists.get_names(results), ", "), results[1] and get_shape(net, results[1])
  if item.kind == "weight_grad" then
    name, shape = item.op.weight, { parameter.rows.count, parameter.columns.count }
  elseif item.kind == "recur_grad" then
    name, shape = item.dy.name, get_shape(net, item.dy)
  elseif (item.kind == "embed_grad" or item.kind == "place_grad") and not item.to then
    name = parameter.name
  end
  if item.dy then
    table.insert(reads, 1, item.dy.name)
  end
  local entry = make_entry(item.kind, name, text .. (item.is_added and ", added" or ""), reads, shape)
  if factor then
    set_flops(entry, item.op, factor)
  end
  return entry
end

-- Returns a table: operation or entry of a backward list -> the names of the buffers whose first writer it is;
-- block -> the names of its buffers without a writer, which hold a repetition's input and its gradient of the loss.
local function index_by_writer(buffer_lists, lists_by_scope)
  local names_by_writer = {}
  for _, buffer in ipairs(buffer_lists.workspace) do
    lists.append_to(names_by_writer, buffer.writer, buffer.name)
  end
  for _, scope in ipairs(lists_by_scope.order) do
    for _, buffer in ipairs(buffer_lists.scopes[scope].state_buffers) do
      lists.append_to(names_by_writer, buffer.writer or scope, buffer.name or buffer.family.name)
    end
    -- Further buffers: an attention's workspace per head, and positions of sequences.
    for _, item in ipairs(lists_by_scope[scope].backward) do
      if item.kind == "attention_grad" then
        lists.append_to(names_by_writer, item, item.op.family.name .. "_scratch")
      elseif item.kind == "embed_grad" then
        lists.append_to(names_by_writer, item.op, item.op.stream.name .. "_position")
      end
    end
  end
  return names_by_writer
end

local function describe_scope(net, scope, lists_by_scope, names_by_writer, counted_parameters)
  local forward, backward = {}, {}
  if names_by_writer[scope] then
    forward[1] = make_entry("input", "input", "output of the previous repetition", {},
      get_shape(net, scope.input_value))
    forward[1].buffers = names_by_writer[scope]
  end
  for _, op in ipairs(lists_by_scope[scope].forward) do
    forward[#forward + 1] = describe_forward(net, op, counted_parameters)
    forward[#forward].buffers = names_by_writer[op] or {}
  end
  for i, item in ipairs(lists_by_scope[scope].backward) do
    backward[i] = describe_backward(net, item)
    backward[i].buffers = names_by_writer[item] or {}
  end
  return { name = scope.name, count = scope.count, times = scope.count * scope.loops, comment = scope.comment,
    forward = forward, backward = backward }
end

function M.derive(net, lists_by_scope, buffer_lists)
  local names_by_writer, counted_parameters = index_by_writer(buffer_lists, lists_by_scope), {}
  local scopes = lists.map(net.order, function(scope)
    return describe_scope(net, scope, lists_by_scope, names_by_writer, counted_parameters)
  end)
  local shared_count = outline.count_shared(net)
  if shared_count > 0 then
    local entry = make_entry("score", "score", "numbers that all layers share", {})
    entry.parameters = shared_count
    table.insert(scopes[1].forward, entry)
  end
  return scopes
end

return M
