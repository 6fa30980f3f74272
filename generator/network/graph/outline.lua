-- Lists the operations of a network as pure data, for pages that users read and for counts: each operation with its
-- shape, its number of parameters and its number of floating-point operations. The operations have the order in which
-- the user's function built them, and none are fused.
--
-- Input: a network (builder.lua), its buffers (buffers.lua). Output of M.derive: a list of scopes, first the network,
-- then its blocks, each with:
--   name, comment   the block's name, and its comment or false
--   count           the number of repetitions with parameters of their own
--   times           the number of all repetitions, loops included
--   outside         names of the values that it reads from outside: first its input, then other values of its parent
--   operations      the list of the operations of the scope, each with:
--     kind          the name of its entry in ops.lua
--     name          the name of its parameter for a product; the block's name for a block; else the name of its result
--     description   the text for users, from ops.lua
--     reads         the names of its operands
--     from          for each operand, the number of the operation that made it, or its name in `outside`
--     rows          the rows of its result: "tokens" (one for each token), "labels" (one for each label) or "none"
--     columns       the number of its result's columns
--     parameters    the number of learned numbers
--     kept          whether the result, or the numbers that a norm saves, are stored for the backward pass; false for
--                   the output of a block
--     stream        the index of the stream to which its tokens belong
--     keys          the index of the stream of attention's keys; for other operations equal to `stream`
--     per_token, per_pair, per_label, per_distance   floating-point operations of a forward pass, two for each
--                   multiply-add: for each token; for each pair of tokens; for each label; and for the vector of each
--                   distance between tokens (relative positions), which is computed once for a batch
-- Output of M.sum_up: sums over all repetitions, as numbers and text.

local lists = require("base.lists")
local ops = require("network.graph.ops")
local parameters = require("network.graph.parameters")

local M = {}

-- The field `name` of an operation.
local function get_name(op)
  return op.kind == "product" and op.weight or op.kind == "block" and op.block.name or op.out.name
end

-- The name of a value for users: "input", or the name of the operation that makes it.
local function get_label(value)
  return value.is_input and "input" or value.external and value.name or value.op and get_name(value.op) or value.name
end

-- The number of learned elements of an operation's parameters, including the parameters of its facets. is_counted: the
-- set of the parameters that have been counted for earlier operations; they are not counted again, and this operation's
-- parameters are added to the set.
function M.count_learned(op, is_counted)
  return lists.sum(lists.join(op.other_parameters or {}, { op.p }), function(p)
    local is_repeated = is_counted[p]
    is_counted[p] = true
    return is_repeated and 0 or parameters.count(p)
  end)
end

-- The number of columns of an operation's result, without columns that only fill vectors.
local function count_columns(op)
  local unpadded_count = op.out.width.unpadded_count
  if op.kind == "product" then
    unpadded_count = #op.p.tensors * (op.p.unpadded_count or op.p.width.count)
  end
  return unpadded_count or op.out.width.count
end

-- is_counted: see M.count_learned; origins: value -> its origin, an element of `from`; read_values: the set of the
-- values that the backward pass reads.
local function describe_operation(op, is_counted, origins, read_values)
  local operands, flops = ops.list_operands(op), ops.count_flops(op)
  return {
    kind = op.kind, name = get_name(op), description = op.definition.describe(op),
    reads = lists.map(operands, function(operand) return get_label(operand.value) end),
    from = lists.map(operands, function(operand) return origins[operand.value] end),
    rows = op.kind == "classify" and "labels" or "tokens", columns = count_columns(op),
    parameters = M.count_learned(op, is_counted),
    kept = (read_values[op.out] or op.norm ~= nil) and op.out ~= op.scope.output_value,
    stream = op.out.stream.index, keys = (op.kv or op.out).stream.index,
    per_token = flops.token or 0, per_pair = flops.pair or 0, per_label = flops.label or 0,
    per_distance = flops.distance or 0,
  }
end

local function describe_scope(scope, is_counted, read_values)
  local operations, outside_names, origins = {}, {}, {}
  for i, value in ipairs({ scope.input_value or nil, table.unpack(scope.externals) }) do
    outside_names[i] = ("%s_%d"):format(get_label(value), i)
    origins[value] = outside_names[i]
  end
  for i, op in ipairs(scope.ops) do
    operations[i] = describe_operation(op, is_counted, origins, read_values)
    origins[op.out] = tostring(i)
  end
  return { name = scope.name, count = scope.count, times = scope.count * scope.loops, comment = scope.comment,
    outside = outside_names, operations = operations }
end

-- The number of elements of the scores' learned parameters that all layers share. These are the only parameters in the
-- network's list declared_last (attention.lua).
function M.count_shared(net)
  return lists.sum(net.declared_last, parameters.count)
end

function M.derive(net, buffer_lists)
  local is_counted = {}
  local outline = lists.map(net.order, function(scope)
    return describe_scope(scope, is_counted, buffer_lists.scopes[scope].read_backward)
  end)
  local shared_count = M.count_shared(net)
  if shared_count > 0 then
    table.insert(outline[1].operations, { kind = "score", name = "score", description = "numbers that all layers share",
      reads = {}, from = {}, rows = "none", columns = 0, parameters = shared_count, stream = 0, keys = 0,
      per_token = 0, per_pair = 0, per_label = 0, per_distance = 0 })
  end
  return outline
end

local COUNT_FIELDS = { "per_token", "per_pair", "per_label", "per_distance" }

-- The entry of `attentions` (see M.sum_up) for a pair of streams, which is added if it is missing.
local function find_entry(attentions, queries, keys)
  local entry = lists.find(attentions, function(attention)
    return attention.queries == queries and attention.keys == keys
  end)
  if not entry then
    entry = { queries = queries, keys = keys, pair_flops = 0, distance_products = 0 }
    table.insert(attentions, entry)
  end
  return entry
end

local function add_operation(sums, times, operation)
  for _, name in ipairs(COUNT_FIELDS) do
    sums[name] = sums[name] + times * operation[name]
  end
  local stream = sums.streams[operation.stream + 1]
  stream.weights = stream.weights + times * operation.per_token // 2 -- two operations for each element of a weight
  if operation.kind == "attention" then
    local entry = find_entry(sums.attentions, operation.stream, operation.keys)
    entry.pair_flops = entry.pair_flops + times * operation.per_pair
    entry.distance_products = entry.distance_products + times * operation.per_distance // 2
  end
end

-- The sizes, as texts such as "64 x 192", of the weights by which an operation multiplies the row of each token.
local function list_weight_sizes(op)
  if op.kind == "product" then
    return { ("%d x %d"):format(op.x.width.count, count_columns(op)) }
  elseif op.kind == "recur" then
    return lists.map(op.weight_sizes, function(size) return ("%d x %d"):format(size[1], size[2]) end)
  end
  return {}
end

-- The work of an attention for a pair of tokens, as text (`pairs` of M.sum_up).
local function describe_pair(op, times)
  local multiply_adds = ops.has_distance_products(op.family) and "three times" or "twice"
  return ("%s%d channels %s"):format(times > 1 and times .. " x " or "", op.out.width.count, multiply_adds)
end

-- Sums over the network: per_token, per_pair, per_label, per_distance; and
--   streams      a list with an entry for each stream:
--     name, index     its name and its index
--     weights         the number of elements of weights by which the row of each token is multiplied
--     products        the sizes of these weights as text, such as "5 x (64 x 192 + 64 x 64)"
--   attentions   a list with an entry for each pair of streams; one entry of zeros if there is no attention:
--     queries, keys   the indices of the two streams
--     pair_flops      the number of floating-point operations for a pair of tokens
--     distance_products   the number of multiply-adds that compute the vector of a distance
--   pairs        the work for a pair of tokens as text, such as "5 x 64 channels twice" (a channel has a multiply-add
--                for the logit and one for the weighted value) or "5 x 64 channels three times" (it also has one for
--                the vector of the distance)
--   families     name of a family -> its number of floating-point operations for a pair of tokens
function M.sum_up(net, outline)
  local sums = { per_token = 0, per_pair = 0, per_label = 0, per_distance = 0, attentions = {}, families = {} }
  local pair_texts = {}
  sums.streams = lists.map(net.streams, function(stream)
    return { name = stream.name, index = stream.index, weights = 0, products = {} }
  end)
  for i, scope in ipairs(net.order) do
    local times = outline[i].times
    local sizes = lists.map(sums.streams, function() return {} end) -- for each stream, the sizes of its weights
    for j, op in ipairs(scope.ops) do
      local operation = outline[i].operations[j]
      add_operation(sums, times, operation)
      lists.append(sizes[operation.stream + 1], list_weight_sizes(op))
      if op.kind == "attention" then
        local name = op.family.name
        sums.families[name] = (sums.families[name] or 0) + times * operation.per_pair
        pair_texts[#pair_texts + 1] = describe_pair(op, times)
      end
    end
    for s, stream in ipairs(sums.streams) do
      if sizes[s][1] then
        local text = table.concat(sizes[s], " + ") -- for example "64 x 192 + 64 x 64"
        stream.products[#stream.products + 1] = times > 1 and ("%d x (%s)"):format(times, text) or text
      end
    end
  end
  for _, stream in ipairs(sums.streams) do
    stream.products = table.concat(stream.products, " + ")
  end
  if #sums.attentions == 0 then
    find_entry(sums.attentions, 0, 0)
  end
  sums.pairs = #pair_texts > 0 and table.concat(pair_texts, " and ") or "no channels"
  return sums
end

return M
