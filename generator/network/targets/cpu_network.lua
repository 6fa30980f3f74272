-- The network on the CPU: the data from which templates/cpu print its operations. The lists of operations are those of
-- scope_lists.lua, with the names that functions and values have in generated code.
--
-- Input: a network (builder.lua), its lists (scope_lists.lua), its structs of parameters (parameters.lua), its buffers
-- (buffers.lua). Output, pure data, in which lists of operations are lists of records (calls.lua):
--   states      the states of repetitions (structs with the values that a repetition stores): all entries of `blocks`,
--               and an entry with the fields of make_state() for each group whose state has members
--   blocks      the blocks in order, each with:
--     name, comment, parameters_type   texts for generated code
--     count, layers        the number of layers, as C text and as a number
--     repetitions_text     C text of the number of repetitions in the current step
--     max_repetitions_text   C text of the largest number of repetitions in training
--     free_repetitions_text  C text of the number of repetitions without gradient, which come first in a training step;
--                          false if all repetitions have a gradient
--     stored               the largest number of repetitions with a gradient
--     forward, backward    the lists of a repetition
--     depends_on_mode      whether `forward` differs by mode
--     own_input            the name of the value that the first repetition reads, if this value has its own buffer
--                          and the backward pass reads the value; else false
--     has_panels           whether the block has panels of weights
--     gradient             the name of the buffer of the stream's gradient
--     uses_part            { forward, backward }: whether this list's function has the argument `part` (cpu_rows.lua)
--     uses_vocabulary      { forward, backward }: whether this list's function has the argument `distinct`
--     uses_parameters      { forward, backward }: whether this list's function has the argument `p`
--     members, requests, buffers   the buffers of its state as lines of a struct, as records of lay_out, and as data
--   pass        the network's lists, for a few sequences that are computed together:
--     train, evaluate, backward   the forward list in training, in evaluation, and the backward list
--     trace                       the list of evaluation that stores values
--     reads_parameters            whether `train` reads parameters
--     depends_on_mode             whether `train` reads the variable of the mode
--   products    the functions that multiply matrices, each compiled once:
--     name            the function's name
--     inner           C text of the number of terms of a sum
--     columns         C text of the number of sums in a row of the result
--     finish          the name of the epilogue, which stores a sum
--     extra           the name of the argument that the epilogue reads, or false
--     x, y            the names of the arguments for the input and for the result
--   gradients   the functions that compute gradients of weights:
--     name            the function's name
--     inner, columns  C texts of the numbers of the weight's rows and columns
--     has_bias        whether the function also computes the gradient of a bias
--   rows        the functions over rows (norms, sums, activations), each compiled once: { template, name, width, ... }
--   unused_rows   false, or if unused rows are omitted (labelled_rows.lua), the numbers of floating-point operations
--                 that this saves:
--     per_token             C text of the number for each omitted row
--     per_pair              C text of the number for each pair of an omitted row and a key, over all families
--     pair_flops            name of a family -> the number for such a pair, or false if the family has none
--   vocabulary  if rows of symbols replace rows of tokens (vocabulary_rows.lua): { per_token }, C text of the number of
--               floating-point operations that one replaced row saves; otherwise false
--   members, requests, workspace   the buffers of the workspace, as `members`, `requests` and `buffers` of a block
--   passes      the largest number of passes through a block in training, if the number of passes may vary; else false
--   passes_by_length   whether the number of passes depends on the task length of a step's examples, or on an axis
--   gradient_passes    the largest number of passes with gradient, if a training step samples its passes; else false
--   has_pass_losses    whether the loss of training is the mean over the losses of all passes
--   max_dropouts   the largest number of dropouts in a layer
--   has_masks   whether any value has a mask of dropout
--   class_table   the name of the table whose rows are the output layer's weight, or false
--   first_class   with class_table, the index of this table's row for the first class
--   first_class_comment   with class_table, the comment for this index in generated code
--   attended    name of a family -> { queries, keys, contribution }: the names of values in a layer's state.
--               contribution: the value that the family reads in addition to queries and keys (ops.lua), or false
--   embeddings  the functions that embed tokens, each with the fields of M.list_functions of embeddings.lua and with:
--     mask            the name of the mask of its dropout, or false
--     dropout_number  the index of its dropout; 0 without dropout
--     stream, stream_prefix   the index and the prefix of its stream
--     vocabulary      whether it also computes the rows of symbols
--   labelled_prefix   the prefix of the labelled stream, the stream whose tokens have labels
--   decoding    false unless the labelled stream can be decoded token by token (decoding.lua):
--     before_tokens   the records of the network that run once, before all tokens
--     per_token       the records of the network that run with every token
--     before_tokens_reads_parameters, per_token_reads_parameters   whether these lists read parameters
--     stream          the stream's index
--     stream_prefix   the stream's prefix
--     blocks          the blocks of the stream, each with:
--       name            the block's name
--       repetitions_text   C text of the number of repetitions
--       caches          the memory for keys and values, one for each attention:
--         name            the family's name
--         stream_prefix   the prefix of the stream of the keys
--         is_self_attention   whether keys and queries are computed from the same value
--         width           C text of the number of cached channels of a token
--         has_tiles       whether keys and values are also cached in tiles (family.caches_tiles)
--         has_sums        whether running sums are cached too
--       has_caches      whether the block has a cache
--       before_tokens, per_token   the functions for the block's two lists (make_decoding_function)
-- A stream's prefix (stream_prefix) begins the names of its members in the workspace: "source." in a workspace with
-- several streams, else "".

local buffers = require("network.lists.buffers")
local calls = require("network.targets.calls")
local decoding = require("network.lists.decoding")
local dropouts = require("network.graph.dropouts")
local embeddings = require("network.targets.embeddings")
local lists = require("base.lists")
local names = require("network.targets.cpu_names")
local ops = require("network.graph.ops")
local records = require("network.targets.cpu_records")
local repetitions = require("network.targets.repetitions")
local cpu_buffers = require("network.targets.cpu_buffers")
local rows = require("network.targets.cpu_rows")

local M = {}

-- The records of an evaluation that also traces values (stores them for analyses). A record after each embedding and
-- each recurrence traces its values. The record of a block also traces the block's attentions and results.
-- evaluation_records: the records of evaluation, which this function changes.
local function make_trace(cpu, evaluation_records)
  local trace_records = {}
  for _, record in ipairs(evaluation_records) do
    trace_records[#trace_records + 1] = record
    record.list = record.list and make_trace(cpu, record.list)
    if record.kind == "embed" or record.kind == "recur" then
      -- to++: the next element of the array of places for traced values
      -- record.traced_tokens: C text of the number of tokens if there are several streams, else false
      calls.append("cpu", trace_records, "trace", nil, { call = "trace_activation(self, tokens, x, 'to++')",
        self = not record.traced_tokens and record.self, x = record.out, tokens = record.traced_tokens })
    elseif record.kind == "block" and not record.list then
      record.template = "cpu/op/trace_block.tpl"
      record.families = cpu_buffers.list_families(cpu.buffers.scopes[cpu.net.scopes[record.name]].state_buffers)
    end
  end
  return trace_records
end

-- The value that the first repetition of a block reads: the block's input, or the input of the group around it.
local function find_first_input(block)
  local group = block.parent
  return group.is_group and block.outer_input == group.input_value and find_first_input(group) or block.outer_input
end

-- An entry of `states`: the members of the state of a block or a group, and the numbers of its repetitions.
local function make_state(cpu, scope)
  local state_buffers = cpu.buffers.scopes[scope].state_buffers
  return {
    name = scope.name, is_group = scope.is_group, repetitions_text = repetitions.write_count(scope, "w->passes"),
    max_repetitions_text = repetitions.write_count(scope, "PASSES"), own_input = false,
    free_repetitions_text = scope.is_progressive and repetitions.write_count(scope, "free_passes"),
    stored = scope.count * scope.stored_loops,
    members = cpu_buffers.write_members(cpu.net, state_buffers), buffers = cpu_buffers.describe(state_buffers),
    requests = cpu_buffers.list_requests(cpu.net, state_buffers, "s->", "used"),
  }
end

local function make_block(cpu, block, panels)
  local first_input, values_read_backward = find_first_input(block), cpu.buffers.scopes[block].read_backward
  local forward, backward = records.list_forward(cpu, block, "forward"), records.list_backward(cpu, block)
  local names_read_forward, names_read_backward = calls.find_read(forward), calls.find_read(backward)
  local function find_readers(name)
    return { forward = names_read_forward[name] or false, backward = names_read_backward[name] or false }
  end
  return lists.merge(make_state(cpu, block), {
    comment = block.comment, parameters_type = block.parameters_type,
    uses_part = find_readers("part"), uses_vocabulary = find_readers("distinct"), uses_parameters = find_readers("p"),
    count = block.count_name, layers = block.count, loops = block.loops,
    own_input = not first_input.carried and values_read_backward[block.input_value] and first_input.name or false,
    has_panels = #panels > 0, depends_on_mode = names_read_forward.train or false,
    forward = forward, backward = backward, gradient = buffers.name_for_stream("gradient", block.output_value),
  })
end

local function list_embeddings(cpu)
  return embeddings.list_functions(cpu.net, function(op)
    return { mask = op.mask or false, stream = op.stream.index,
      stream_prefix = cpu_buffers.get_prefix(cpu.net, op.stream),
      dropout_number = op.dropout_number or 0, vocabulary = cpu.vocabulary and cpu.vocabulary.embed == op or false }
  end)
end

-- Name of a family -> the names of the queries, keys and contribution of this attention in a layer's state.
local function name_attended(net)
  local by_family = {}
  for _, op in ipairs(ops.find_all(net, "attention")) do
    by_family[op.family.name] = { queries = op.q.name, keys = op.kv.name,
      contribution = op.contribution and op.contribution.name or false }
  end
  return by_family
end

-- A block's function for decoding, with its records in `list`. A field reads_X: whether the records read an argument X.
--   runs_once    whether the function runs once, before all tokens; else it runs with every token
--   has_caches   whether the block has caches
local function make_decoding_function(cpu, block, stream, runs_once, has_caches)
  local list = records.list_decoding(cpu, block, stream, runs_once)
  local read_names = calls.find_read(list)
  return { routine = block.name .. (runs_once and "_prepare" or "_decode"), input = not runs_once,
    has_caches = has_caches,
    name = block.name, loops = block.loops, count = block.count_name, parameters_type = block.parameters_type,
    list = list, reads_parameters = read_names.p or false, reads_panels = read_names.panels or false,
    reads_state = read_names.s or false }
end

local function make_decoded_block(cpu, block, stream)
  local caches = {}
  for i, op in ipairs(decoding.list_attentions(block, stream)) do
    local prefix = cpu_buffers.get_prefix(cpu.net, op.kv.stream)
    local is_self_attention = op.kv == op.q
    caches[i] = { name = op.family.name, stream_prefix = prefix, is_self_attention = is_self_attention,
      width = is_self_attention and "3 * WIDTH" or "2 * WIDTH",
      has_tiles = op.family.caches_tiles, has_sums = op.family.score.running and true or false }
  end
  local has_caches = #caches > 0
  return { name = block.name, repetitions_text = block.repetitions_text, caches = caches, has_caches = has_caches,
    before_tokens = make_decoding_function(cpu, block, stream, true, has_caches),
    per_token = make_decoding_function(cpu, block, stream, false, has_caches) }
end

-- The records of all blocks of a list, including blocks in groups.
local function list_block_records(list)
  return lists.collect(list, function(record)
    return record.list and list_block_records(record.list) or { record.kind == "block" and record or nil }
  end)
end

-- The lists of decoding. Blocks of the decoded stream run with every token. Before all tokens, a block runs only if it
-- has operations on other streams.
local function make_decoding(cpu, stream)
  local net = cpu.net
  local result = { stream = stream.index, stream_prefix = cpu_buffers.get_prefix(net, stream), blocks = {},
    before_tokens = records.list_decoding(cpu, net, stream, true),
    per_token = records.list_decoding(cpu, net, stream, false) }
  for _, record in ipairs(list_block_records(result.per_token)) do
    local block = make_decoded_block(cpu, net.scopes[record.name], stream)
    result.blocks[#result.blocks + 1] = block
    local cache = block.has_caches and ("&c.%s[%s]"):format(block.name, record.number)
    record.routine, record.cache = block.name .. "_decode", cache
    calls.fill("cpu", record)
    if block.before_tokens.list[1] then
      calls.append("cpu", result.before_tokens, "block", nil, { call = record.call, template = record.template,
        routine = block.name .. "_prepare", first = "0", past = block.repetitions_text, number = record.number,
        self = record.self, cache = cache, input = false, output = false })
    end
  end
  result.before_tokens_reads_parameters = calls.find_read(result.before_tokens).p or false
  result.per_token_reads_parameters = calls.find_read(result.per_token).p or false
  return result
end

-- C text of a sum, in parentheses if it has several terms, so that the text can be a factor.
local function write_sum(texts)
  return texts[2] and "(" .. table.concat(texts, " + ") .. ")" or texts[1] or "0"
end

-- Derives the output of this module. structs and buffer_lists are the outputs of parameters.lua and buffers.lua; this
-- function adds the buffers for labelled rows and for rows of symbols to buffer_lists. Further arguments:
--   labelled        the output of labelled_rows.lua, or nil
--   vocabulary      the output of vocabulary_rows.lua, or nil
--   stream          the stream that is decoded token by token, or nil
--   eval_dropout    whether evaluation applies dropout
--   panels_member   the name of the workspace's member with the panels of weights
function M.derive(net, lists_by_scope, structs, buffer_lists, labelled, vocabulary, stream, eval_dropout, panels_member)
  local kernel_names, class_table = names.list_kernel_names(), net.classified.op.class_table
  local has_output_weight = net.classified.op.other_parameters[1] ~= nil
  -- value -> the name of the buffer for copies of the value's labelled rows:
  --   part_names     for all values with such a buffer
  --   copied_parts   for the values whose rows the network's records have copied so far
  local cpu = { net = net, lists = lists_by_scope, buffers = buffer_lists, labelled_rows = labelled, part_names = {},
    copied_parts = {}, vocabulary = vocabulary, eval_dropout = eval_dropout, panels_member = panels_member,
    products = calls.make_functions(kernel_names), gradients = calls.make_functions(kernel_names),
    rows = calls.make_functions(kernel_names) }
  rows.add_buffers(cpu)
  local structs_by_name = lists.index_by(structs, function(struct) return struct.name end)
  local blocks = lists.map(net.scopes, function(block)
    return not block.is_group and make_block(cpu, block, structs_by_name[block.parameters_type].panels) or nil
  end)
  local states = lists.map(net.scopes, function(scope)
    return scope.is_group and make_state(cpu, scope) or lists.find(blocks, function(b) return b.name == scope.name end)
  end)
  states = lists.filter(states, function(state) return not state.is_group or state.members[1] end)
  local pass = { train = records.list_forward(cpu, net, "train"), evaluate = records.list_forward(cpu, net, "evaluate"),
    backward = records.list_backward(cpu, net), trace = make_trace(cpu, records.list_forward(cpu, net, "evaluate")) }
  local read_names = calls.find_read(pass.train)
  pass.reads_parameters, pass.depends_on_mode = read_names.p or false, read_names.train or false
  return { blocks = blocks, states = states, pass = pass, products = cpu.products.list, gradients = cpu.gradients.list,
    rows = cpu.rows.list, members = cpu_buffers.write_members(net, cpu.buffers.workspace),
    unused_rows = labelled and { per_token = write_sum(labelled.row_flops_texts),
      per_pair = write_sum(labelled.pair_flops_texts), pair_flops = labelled.pair_flops } or false,
    vocabulary = vocabulary and { per_token = write_sum(vocabulary.row_flops_texts) } or false,
    requests = cpu_buffers.list_requests(net, cpu.buffers.workspace, "w->", "&used"),
    workspace = cpu_buffers.describe(cpu.buffers.workspace),
    passes = lists.any(net.scopes, function(block) return block.has_passes and block.loops end) or false,
    passes_by_length = lists.any(net.scopes, function(block) return block.passes_by_length end) or false,
    gradient_passes = lists.any(net.scopes, function(block) return block.is_progressive and block.stored_loops end),
    has_pass_losses = lists.any(net.scopes, function(block) return block.has_pass_losses end) or false,
    class_table = class_table and class_table.name or false, first_class = class_table and class_table.rows.output or 0,
    first_class_comment = (has_output_weight and "row of the output layer's weight for" or "token of")
      .. " the first output symbol",
    max_dropouts = dropouts.find_max(net),
    has_masks = lists.any(net.order, function(scope) return next(scope.masks) ~= nil end),
    embeddings = list_embeddings(cpu), attended = name_attended(net),
    decoding = stream and make_decoding(cpu, stream) or false,
    labelled_prefix = cpu_buffers.get_prefix(net, net.classified.op.x.stream) }
end

return M
