-- The network in device code: the data from which templates/cuda print the operations of the network. The lists of
-- operations are those of scope_lists.lua, with the names that functions and values have in device code. In a wide
-- model a library computes the products; all other models are narrow.
--
-- Input: a network (builder.lua), its lists (scope_lists.lua), and the choices of cuda_half.lua. Output, pure data:
--   blocks       the blocks in order, each with:
--     name, comment        the block's name, and its comment or false
--     parameters_type, gradients_type   the C types of its parameters and of their gradients
--     state                the C type of the values that a repetition stores
--     members              the members of the state (cuda_buffers.lua)
--     lines                the members as lines of C
--     row_declarations     declarations of the numbers of rows of the members' streams (cuda_buffers.lua)
--     count, loops         C text of the number of sets of parameters; the number of loops (builder.lua)
--     repetitions_text, and further texts about repetitions   see cuda_states.lua
--     last_pass_start      C text of the index of the first repetition in the last pass, or false if there is one pass.
--                          The backward pass begins with the last pass, which stores gradients of parameters; the
--                          other passes add to them
--     input                C text of the address of the block's input
--     on_host              fields for the host's list of launches: cuda_states.lua
--     overwrites_input     whether evaluation stores the block's output over its input, which no other operation reads
--     adds_table_sums      whether several passes add to the same gradients of tables
--     clears_unwritten     whether gradients of parameters are cleared first, since some elements are never written
--     forward, backward    the lists of a repetition
--     forward_reads        name of an argument -> whether the function for the list `forward` reads it
--     backward_reads       name of an argument -> whether the function for the list `backward` reads it
--     decode_reads         name of an argument -> whether the function for decoding.list reads it; or false
--     has_dropout          whether the block has dropout
--     has_chains           whether the block has chains (chains.lua)
--     decoding             false, or { list, caches }: the records for one token of each sequence
--   groups, scopes    the groups of blocks, and blocks and groups in order; fields: cuda_states.lua
--   states       the scopes that store values of repetitions
--   pass         the lists of a thread block's work outside the network's blocks: { train, evaluate }
--   rows         functions over rows, each compiled once: { template, name, ... }
--   always       members of the workspace (cuda_buffers.lua) that both modes have
--   training     members of the workspace that only training has
--   lines        { always, training }: these members as lines of C
--   operands     data with which the team (all thread blocks of a model) sums gradients of weights; without
--                choices.by_team the lists are empty:
--     list                 the products whose operands are stored for the team (sum_by_team of warp_products.lua)
--     members              the parameters of these products (list_product_parameters)
--     row_declarations     declarations of the numbers of rows of their streams, or false
--   place_sums   the arrays that sum the gradients of learned position tables (list_place_sums)
--   masks        groups of dropout sites of the model's width (cuda_masks.lua)
--   site_count   the number of sites of all groups
--   bits         masks of another width, and of attention's weights (cuda_masks.lua)
--   max_dropouts    the largest number of dropouts in a layer, of any width
--   has_dropout  whether there are masks in `masks` or in `bits`
--   attention_names, embeddings   names of the values of attentions and of embeddings: cuda_names.lua
--   streams      the variables of each stream (cuda_buffers.lua)
--   lengths      the C type of the argument T: a number with one stream, a struct with several
--   row_declarations    declarations of the streams' numbers of rows (cuda_buffers.lua)
--   max_rows    { text, description }: the number of rows of the longer stream
--   tokens       the names of the arrays of tokens, as one text
--   labelled_length    the name of the number of tokens of a sequence in the labelled stream, such as "T"
--   phases       the names of a wide model's phases (launches.lua); false for a narrow model
--   max_launches      C text of the number of launches of a step; false for a narrow model
--   launches_of_pass  C text of the number of launches of a pass; false for a narrow model
--   class_table  the name of the table whose rows are the output layer's weight, or false
--   readout_gradient   the buffer to which the loss writes the gradient of the labelled tokens
--   has_rms_norm   whether any norm is an RMS norm
--   has_loops    whether any block has loops
--   has_passes   whether the number of passes is an argument, not fixed by the spec
--   samples_passes   whether training samples the number of passes
--   has_pass_losses   whether every pass has a loss
--   adds_table_sums, clears_unwritten   whether these fields are true for some block
--   last_pass_starts   name of a block -> its last_pass_start
--   has_shared_gradients   whether some group has shared_gradients (cuda_states.lua)
--   rounds       whether products read rounded copies of weights in training
--   decoding     false, or, if a stream is decoded with cached keys and values:
--     per_token     the network's records for one token of each sequence
--     caches        the arrays with cached rows: { block, name, repetitions_text, T, is_self_attention, width }. If
--                   is_self_attention is true, decoding copies the rows of each new token to the array
--     tokens        the array of tokens of the stream
--     token_positions   the function that returns positions that are computed from the stream's tokens
--     index         the index of the stream
--   has_chains   whether some block has chains
--   has_biased_product   whether some product of a wide model adds a bias
-- Lists consist of records (cuda_records.lua); lists of a wide model have the form of cuda_lists.lua. Values outside of
-- blocks are members of the workspace with the values' names. If device code cannot compute the network, M.derive
-- raises an error { problem = true, what, line } about the description.

local buffers = require("network.lists.buffers")
local calls = require("network.targets.calls")
local chains = require("network.targets.chains")
local cuda_lists = require("network.targets.cuda_lists")
local cuda_masks = require("network.targets.cuda_masks")
local cuda_names = require("network.targets.cuda_names")
local decoding = require("network.lists.decoding")
local dropouts = require("network.graph.dropouts")
local lists = require("base.lists")
local ops = require("network.graph.ops")
local records = require("network.targets.cuda_records")
local repetitions = require("network.targets.repetitions")
local cuda_buffers = require("network.targets.cuda_buffers")
local cuda_states = require("network.targets.cuda_states")
local warp_products = require("network.targets.warp_products")

local M = {}

-- The operations of all groups.
local function list_group_operations(net)
  return lists.collect(net.scopes, function(scope) return scope.is_group and scope.ops or {} end)
end

-- Refuses a network for which there is no device code.
local function check_network(net, choices)
  local attentions = ops.find_all(net, "attention")
  for _, op in ipairs(list_group_operations(net)) do
    if op.kind ~= "block" and op.kind ~= "add" and op.kind ~= "norm" or op.dropout then
      records.refuse(op, "a loop over several layers with an operation in between that %s",
        op.dropout and "has dropout" or "is neither a sum nor a norm")
    end
  end
  for _, op in ipairs(attentions) do
    if not op.scope.input_value then
      records.refuse(op, "attention outside of a block")
    elseif choices.wide and op.family.score.row_sums then
      records.refuse(op, "a network of this width with a score that calls sum_to_query")
    end
  end
  local reason = net.is_step_major and "with a recurrence" or not attentions[1] and "without attention"
  if reason then
    records.refuse(nil, "a network %s", reason)
  end
end

-- A block's field `decoding`. For each attention, repetitions cache keys and values (op.kv), products of keys with
-- biases, and running sums.
local function make_decoded_block(device, block, list)
  local caches = lists.collect(decoding.list_attentions(block, device.choices.decoded), function(op)
    local family, is_self_attention = op.family, op.q == op.kv
    local cache = { block = block.name, repetitions_text = block.repetitions_text,
      T = device.variables[op.kv.stream].T }
    local rows = { { name = op.kv.name, is_self_attention = is_self_attention,
      width = is_self_attention and "3 * WIDTH" or "2 * WIDTH" } }
    rows[2] = family.terms.has_biases and { name = family.prefix .. "key_bias", is_self_attention = false,
      width = family.PREFIX .. "HEADS" } or nil
    rows[#rows + 1] = family.score.running and { name = family.prefix .. "running", is_self_attention = false,
      width = family.score.running.row_count } or nil
    return lists.map(rows, function(row) return lists.merge(cache, row) end)
  end)
  return { list = cuda_lists.make_decoding_records(device, block, list), caches = caches }
end

local function find_kind(list, kind)
  return lists.find(list, function(entry) return entry.kind == kind end)
end

-- Whether a block's backward pass leaves some elements of the gradients of parameters unwritten.
local function leaves_gaps(block)
  return lists.any(block.ops, function(op)
    local has_padded_parameters = op.kind == "attention"
      and (op.family.terms.visits_outwards or op.family.on_device.terms.scans_logits)
    return has_padded_parameters or records.sums_table_gradients(op)
  end)
end

-- The entry of `blocks` for an operation of kind "block".
local function make_block(device, op)
  local block, block_lists = op.block, device.lists[op.block]
  local forward = cuda_lists.list_entries(block_lists.forward, false)
  local backward = cuda_lists.list_entries(block_lists.backward, true)
  device.unused[block] = { values = {}, gradients = {} }
  if device.choices.cuts_by_warp then
    forward, backward, device.unused[block] = chains.chain(forward, backward, device.choices.by_team)
  end
  local record = lists.merge(cuda_states.describe(device, op, cuda_buffers.list_kept(device, block)), {
    comment = block.comment, layer = block.loops > 1 and "use % " .. block.count_name or "l",
    last_pass_start = repetitions.write_last_pass_start(block, repetitions.PASSES), loops = block.loops,
    parameters_type = block.parameters_type, gradients_type = block.gradients_type,
    adds_table_sums = block.loops > 1 and lists.any(block.ops, records.sums_table_gradients),
    clears_unwritten = block.loops > 1 and leaves_gaps(block),
    mask = device.scope_masks[block] or false,
    has_dropout = lists.any(block_lists.forward, function(operation) return operation.dropout ~= nil end),
    overwrites_input = not block.parent.is_group and op.x.carried and op.x.carried.block == block or false,
  })
  device.block_records[block] = record
  record.has_chains = lists.any(forward, function(entry) return entry.kind == "chain" end)
  record.forward = device.make_list(device, block, true, forward)
  record.decoding = device.choices.decoded == op.out.stream and make_decoded_block(device, block, forward)
  record.backward = device.make_list(device, block, true, backward)
  local wide = device.choices.wide
  record.forward_reads = wide and record.forward.reads_in_phases or cuda_lists.find_read(record.forward)
  record.decode_reads = record.decoding and cuda_lists.find_read(record.decoding.list) or false
  record.backward_reads = wide and record.backward.reads_in_phases or cuda_lists.find_read(record.backward)
  if wide then
    cuda_states.find_phases(record)
  end
  return record
end

-- The arrays that sum the gradients of learned position tables. Fields of an entry:
--   member              the name of the array of sums
--   block               the block's name; false for the embedding
--   count               C text of the number of the block's layers; nil for the embedding
--   times               this number as a factor in C, such as "LAYERS * "; empty for the embedding
--   T                   the number of tokens of a sequence of the stream
--   sampled_positions   the address of sampled positions, or nil
local function list_place_sums(device, net)
  local place_sums, position_table = {}, net.position_table
  local has_sums = position_table and position_table.is_read_from_tables and not position_table.frozen
  for _, stream in ipairs(has_sums and net.streams or {}) do
    local variables, op = device.variables[stream], lists.find(net.ops, function(operation)
      return operation.kind == "embed" and operation.stream == stream and operation.encoding
    end)
    place_sums[#place_sums + 1] = op and { member = variables.prefix .. "places", block = false, times = "",
      T = variables.T, sampled_positions = cuda_names.name_input_draws(variables, op.encoding.draw) } or nil
  end
  for _, block in ipairs(net.scopes) do
    local op = find_kind(device.lists[block].forward, "place")
    local member, variables = op and records.name_place_sums(op), op and device.variables[op.out.stream]
    place_sums[#place_sums + 1] = member and { member = member, block = block.name, count = block.count_name,
      times = block.count_name .. " * ", T = variables.T,
      sampled_positions = cuda_names.name_layer_draws(variables, op, "l") } or nil
  end
  return place_sums
end

-- The state `device` that the modules of device code share: the arguments of this function (lists: lists_by_scope), and
--   buffers               see buffers.lua
--   streams, variables    the variables of the streams (name_streams of cuda_buffers.lua), as a list and by stream
--   rows                  the functions over rows that calls have needed so far
--   masks, scope_masks    groups of masks, as a list and by scope
--   mask_numbers          operation -> index of its mask in the group
--   bits, operation_bits  the other masks, as a list and by operation
--   block_records         block or group -> its entry of `blocks` or `groups`
--   unused                block -> the buffers that chains make unnecessary
--   operands, rounded, rounded_values   see warp_products.lua
--   unbiased_results      a set of values, the results of products: an attention, not the product, adds the bias
local function make_state(net, lists_by_scope, choices)
  local device = { net = net, lists = lists_by_scope, choices = choices, rows = calls.make_functions({}), masks = {},
    scope_masks = {}, mask_numbers = {}, bits = {}, operation_bits = {}, block_records = {}, unused = {},
    site_count = 0, operands = {}, rounded = {}, rounded_values = {},
    buffers = buffers.derive(net, lists_by_scope, choices.eval_dropout),
    unbiased_results = lists.to_set(lists.map(ops.find_all(net, "attention"), function(op)
      return op.family.terms.visits_outwards and op.contribution or nil
    end)),
    make_list = choices.wide and cuda_lists.make_launches or cuda_lists.make_records,
    has_loops = lists.any(net.scopes, function(block) return block.loops > 1 end),
    has_pass_losses = lists.any(net.scopes, function(scope) return scope.has_pass_losses end) }
  -- With loops, the memory for rounded copies of weights holds sums of gradients.
  device.rounds = choices.rounds and not device.has_loops
  device.streams, device.variables = cuda_buffers.name_streams(net)
  device.adds_bias = function(op) return records.adds_bias(device, op) end
  warp_products.find_rounded_values(device)
  return device
end

-- The ranges of successive members of a scope's struct whose gradients are computed by products. Fields of a range:
--   first   the name of the first member
--   size    C text of the number of elements of all members
-- sizes: name of such a member -> C text of its number of elements.
local function find_ranges(scope, sizes)
  local ranges, range = {}, nil
  for _, parameter in ipairs(scope.parameters) do
    for _, name in ipairs({ parameter.name, parameter.bias and parameter.name .. "_bias" or nil }) do
      local size = sizes[name]
      if size and range then
        range.size = range.size .. " + " .. size
      else
        range = size and { first = name, size = size } or nil
        ranges[#ranges + 1] = range
      end
    end
  end
  return ranges
end

-- The parameters whose gradients are computed by products, by block: { block, count, parameters_type, ranges }.
local function list_product_parameters(device)
  return lists.map(lists.group(device.operands, function(product) return product.scope end), function(group)
    local scope, sizes = group.key, {}
    for _, product in ipairs(group) do
      sizes[product.weight] = product.inner .. " * " .. product.columns
      sizes[product.bias or false] = product.columns
    end
    return { block = scope ~= device.net and scope.name, count = scope.count_name or false,
      parameters_type = scope.parameters_type or false, ranges = find_ranges(scope, sizes) }
  end)
end

-- The field `operands` of the output.
local function list_operands(device)
  local streams, members = cuda_states.find_streams(device, device.operands), list_product_parameters(device)
  for _, product in ipairs(device.operands) do
    product.variables, product.scope = nil, nil -- only for this module
  end
  return { list = device.operands, members = members,
    row_declarations = streams[1] and cuda_buffers.declare_rows(streams) or false }
end

-- Derives the output from lists_by_scope, the lists of all scopes (scope_lists.lua), and from the choices:
--   wide           whether a library computes products (launches.lua)
--   by_team        whether the team sums gradients of weights over all shards
--   rounds         whether products may read rounded copies of weights in training
--   eval_dropout   whether evaluation applies dropout
--   noise          whether embeddings add noise in evaluation
--   cuts_by_warp   whether products are divided among warps, so that pairs of products may be chains
--   decoded        the stream that is decoded, or nil
function M.derive(net, lists_by_scope, choices)
  check_network(net, choices)
  local device, net_lists = make_state(net, lists_by_scope, choices), lists_by_scope[net]
  for _, scope in ipairs(net.order) do
    cuda_masks.derive(device, scope)
  end
  local block_ops = cuda_states.list_block_operations(net)
  local blocks = lists.map(block_ops, function(op) return not op.block.is_group and make_block(device, op) or nil end)
  local groups = cuda_states.make_groups(device, block_ops)
  local scopes = lists.join(blocks, groups)
  local forward = cuda_lists.list_entries(net_lists.forward, false)
  local backward = cuda_lists.list_entries(net_lists.backward, true)
  local pass = { train = device.make_list(device, net, true, lists.join(forward, backward)),
    evaluate = device.make_list(device, net, false, forward) }
  local always, training = cuda_buffers.list_workspace(device)
  return {
    decoding = choices.decoded and { per_token = cuda_lists.make_decoding_records(device, net, forward),
      tokens = device.variables[choices.decoded].tokens,
      token_positions = device.variables[choices.decoded].token_positions, index = choices.decoded.index,
      caches = lists.collect(blocks, function(block)
        return block.decoding and block.decoding.caches or {}
      end) } or false,
    blocks = blocks, groups = groups, scopes = scopes,
    states = lists.filter(scopes, function(scope) return scope.members[1] ~= nil end), pass = pass,
    rows = device.rows.list, always = always, training = training,
    lines = { always = cuda_buffers.write_lines(always), training = cuda_buffers.write_lines(training) },
    masks = device.masks, site_count = device.site_count, bits = device.bits,
    max_dropouts = dropouts.find_max(net),
    has_dropout = device.masks[1] ~= nil or device.bits[1] ~= nil,
    attention_names = cuda_names.name_attentions(device), embeddings = cuda_names.list_embeddings(device),
    streams = device.streams, lengths = net.streams[2] and "lengths" or "int",
    row_declarations = cuda_buffers.declare_rows(device.streams),
    max_rows = cuda_buffers.name_max_rows(device.streams),
    tokens = table.concat(lists.map(device.streams, function(variables) return variables.tokens end), ", "),
    labelled_length = device.variables[net.classified.op.x.stream].T,
    place_sums = list_place_sums(device, net), operands = list_operands(device),
    readout_gradient = find_kind(net_lists.backward, "classify_grad").to.name,
    class_table = net.classified.op.class_table and net.classified.op.class_table.name or false,
    has_rms_norm = lists.any(ops.find_all(net, "norm"), function(op) return op.norm == "rms" end),
    has_loops = device.has_loops, has_passes = lists.any(net.scopes, function(scope) return scope.has_passes end),
    samples_passes = lists.any(net.scopes, function(scope) return scope.is_progressive end),
    has_pass_losses = device.has_pass_losses,
    adds_table_sums = lists.any(blocks, function(block) return block.adds_table_sums end),
    clears_unwritten = lists.any(blocks, function(block) return block.clears_unwritten end),
    last_pass_starts = cuda_states.collect_last_pass_starts(blocks),
    has_shared_gradients = lists.any(groups, function(group) return group.shared_gradients[1] ~= nil end),
    rounds = device.rounds,
    has_chains = lists.any(blocks, function(block) return block.has_chains end),
    phases = choices.wide and cuda_lists.list_phases(pass, scopes) or false,
    has_biased_product = device.has_biased_product or false,
    max_launches = choices.wide and cuda_lists.count_launches(scopes, pass.train) or false,
    launches_of_pass = choices.wide and cuda_lists.count_launches_of_pass(scopes) or false,
  }
end

return M
