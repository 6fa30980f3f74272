-- Lists the arrays in which layers and thread blocks store values in device code, as members of structs.
--
-- Input: the table `device` (make_state of cuda_network.lua). Output: lists of members, each with:
--   name        its name in C
--   type        its type in C:
--                 "reals"    the compiler knows that the array lies in global memory
--                 "real *"   for arrays in loops over pairs, which need 10 to 20 registers more with "reals"
--   count       C text of the number of elements for all sequences
--   allocated_count   C text of the number of elements for which there is memory. For some arrays it is smaller than
--               `count`: attention processes only a few sequences at a time
--   comment     its comment in C
--   variables   the names of the variables of its stream: a table of name_streams()

local buffers = require("network.lists.buffers")
local calls = require("network.targets.calls")
local lists = require("base.lists")
local scope_lists = require("network.lists.scope_lists")
local ops = require("network.graph.ops")

local M = {}

local PLAIN_TYPE, GLOBAL_TYPE = "real *", "reals" -- see `type` above

-- The set of the names of values and gradients that attention reads or writes in loops over pairs of tokens.
local function find_names_of_pair_loops(device)
  local pair_buffers = lists.collect(device.lists.order, function(scope)
    return lists.collect(device.lists[scope].backward, function(entry)
      local op = entry.op
      return entry.kind == "attention_grad" and { op.q, op.kv, op.out, entry.dy, entry.dq, entry.dkv } or {}
    end)
  end)
  return lists.to_set(lists.get_names(pair_buffers))
end

-- Returns a list with a table of names for each stream, and a map from streams to these tables. Fields of a table:
--   index        the stream's index
--   prefix       the prefix of the stream's names; empty in a network with one stream
--   T            the number of tokens of a sequence: "T", or with several streams a member such as "T.source"
--   rows         a variable in functions that lay out members: the number of tokens of all sequences
--   all_rows     the function that returns this number elsewhere
--   tokens       the array of a thread block's tokens
--   input_draws  the array of sampled positions for the vectors that are added to tokens
--   sequence_positions   the function that returns a thread block's positions, if every sequence samples its own
--   token_positions      the function that returns a thread block's positions, if tokens determine them
function M.name_streams(net)
  local all_variables, by_stream = {}, {}
  for i, stream in ipairs(net.streams) do
    local has_several = net.streams[2] ~= nil
    local prefix = has_several and stream.name .. "_" or ""
    all_variables[i] = { index = stream.index, prefix = prefix, T = has_several and "T." .. stream.name or "T",
      rows = prefix .. "rows", all_rows = ("all_%srows"):format(prefix), tokens = prefix .. "tokens",
      input_draws = prefix .. "input_draws", sequence_positions = prefix .. "sequence_positions",
      token_positions = prefix .. "token_positions" }
    by_stream[stream] = all_variables[i]
  end
  return all_variables, by_stream
end

-- C texts with the number of rows of each stream, in three forms:
--   all            declarators of variables with the number of rows of `sequences` sequences
--   before_first   declarators of variables with the number of rows before sequence `first`
--   in_call        the numbers of `all`, as arguments of a call
function M.declare_rows(streams)
  local function write_each(format, field, second_field)
    return table.concat(lists.map(streams, function(variables)
      return format:format(variables[field], variables[second_field])
    end), ", ")
  end
  return { all = write_each("%s = (size_t)sequences * (size_t)%s", "rows", "T"),
    before_first = write_each("%s = (size_t)first * %s", "rows", "T"), in_call = write_each("sequences * %s", "T") }
end

-- Returns the number of rows of the longer stream: { text, description }, an expression in C and words for it.
function M.name_max_rows(streams)
  if not streams[2] then
    return { text = "rows", description = "rows" }
  end
  local rows_a, rows_b = streams[1].rows, streams[2].rows
  return { text = ("(%s > %s ? %s : %s)"):format(rows_a, rows_b, rows_a, rows_b),
    description = "rows of the longer stream" }
end

-- A member with a row for each token of a stream. per_row: C text of the number of elements of a row; false for one
-- element.
local function make_member(variables, name, type, per_row, comment)
  local count = per_row and variables.rows .. " * " .. per_row or variables.rows
  return { name = name, type = type, count = count, allocated_count = count, comment = comment, variables = variables }
end

-- A member with a row of channels for each token of a stream; width: false for one number for each token.
local function make_rows(variables, name, type, width, comment)
  local shape = ("[%s]"):format(variables.rows) .. (width and ("[%s]"):format((width.text:gsub(" %* ", " "))) or "")
  return make_member(variables, name, type, width and width.text or false, shape .. (comment and " " .. comment or ""))
end

-- A member with numbers for each query or key and each head of a family.
--   variables      the variables of the stream of the queries or keys
--   comment        the member's comment. The first word HEADS and the first LOGIT_SCALE get the family's prefix
--   number_count   C text of the count of numbers for a token and head, nil for one
local function make_heads(variables, family, name, type, comment, number_count)
  local per_row = (number_count and number_count .. " * " or "") .. family.PREFIX .. "HEADS"
  return make_member(variables, family.prefix .. name, type, per_row,
    (comment:gsub("HEADS", family.PREFIX .. "HEADS", 1):gsub("LOGIT_SCALE", family.PREFIX .. "LOGIT_SCALE")))
end

-- Sets allocated_count of a member, and returns the member.
--   sides     the result of get_sides()
--   per_key   C text of the count of numbers for each key of a sequence
local function set_allocated_count(member, sides, family, per_key)
  if family.attends.stores_pairs then
    member.allocated_count = ("(size_t)%spair_sequences(sequences, %s) * (size_t)%s * %s"):format(family.prefix,
      sides.keys.T, sides.keys.T, per_key)
  end
  return member
end

-- A member with a number for each query, key and head of a family; sides: the result of get_sides().
local function make_pairs(sides, family, name, type, comment)
  local per_key = ("%sHEADS * (size_t)%s"):format(family.PREFIX, sides.queries.T)
  local member = make_member(sides.keys, family.prefix .. name, type, per_key,
    (comment:gsub("HEADS", family.PREFIX .. "HEADS", 1)))
  return set_allocated_count(member, sides, family, per_key)
end

-- Adds to a list the members for a score's sums over keys (facets/score/row_sums.lua) and for their gradients.
local function add_row_sums(sides, family, list)
  local sums = family.score.row_sums
  local function add(name, words)
    local per_key = ("%sHEADS * (size_t)%s"):format(family.PREFIX, sides.queries.T)
    local count, extent = "", ""
    if sums.count > 1 then
      count, extent = " * " .. sums.count, ("[%d]"):format(sums.count)
    end
    list[#list + 1] = make_member(sides.keys, family.prefix .. name, PLAIN_TYPE, per_key .. count,
      ("[sequences][%sHEADS][queries][keys]%s %s"):format(family.PREFIX, extent, words))
  end
  if sums then
    add("row_sums", "sums over the keys from a key up to the query")
  end
  if sums and sums.has_gradients then
    add("drow_sums", "gradients of the terms of these sums")
  end
end

-- A member with gradients of products: each query is multiplied by each row of the family's table of counts.
-- sides: the result of get_sides(); sequence_words: words of the comment after "sequences".
local function make_products(sides, family, sequence_words)
  local member = make_heads(sides.queries, family, "dproducts", GLOBAL_TYPE,
    ("[sequences%s][HEADS][%sCOUNT_ROWS][T] gradients of products of queries and table rows")
      :format(sequence_words, family.PREFIX), family.PREFIX .. "COUNT_ROWS")
  return set_allocated_count(member, sides, family, family.PREFIX .. "HEADS * " .. family.PREFIX .. "COUNT_ROWS")
end

-- The variables of the streams of an attention's queries and keys.
local function get_sides(device, op)
  return { queries = device.variables[op.q.stream], keys = device.variables[op.kv.stream] }
end

-- Adds to a list the members that a layer stores for an attention family. sides: the result of get_sides().
local function add_stored_members(sides, family, list)
  local function add(variables, name, type, comment)
    list[#list + 1] = make_heads(variables, family, name, type, comment)
  end
  local key_count = family.cross and "S" or "T"
  if family.relative.biases then
    local shape = ("[sequences][HEADS][%s]"):format(key_count)
    add(sides.keys, "key_bias", PLAIN_TYPE, shape .. " products of keys and content bias, times LOGIT_SCALE")
  end
  if family.score.running then
    local count = #family.score.running.token_numbers
    list[#list + 1] = make_heads(sides.keys, family, "running", PLAIN_TYPE,
      ("[sequences]%s[HEADS][T] %s of each sequence's tokens"):format(count > 1 and ("[%d]"):format(count) or "",
        family.score.cuda.running.words), count > 1 and tostring(count) or nil)
  end
  if family.normaliser.normalised then
    add(sides.queries, "inverse_total", GLOBAL_TYPE, "[sequences][HEADS][T] inverse sum of each query's weights")
  elseif family.attends.in_fragments then
    add(sides.queries, "log_sum", GLOBAL_TYPE, "[sequences][HEADS][T] log2 of the sum of each query's weights")
  elseif not (family.terms.visits_outwards or family.terms.breaks_stick) then
    add(sides.queries, "largest", PLAIN_TYPE, "[sequences][HEADS][T] largest score and inverse sum of each softmax")
    add(sides.queries, "inverse_sum", PLAIN_TYPE, "[sequences][HEADS][T] largest score and inverse sum of each softmax")
  end
end

-- Adds to a list the members for gradients of running sums, and for gradients of the products in these sums.
local function add_running_gradients(sides, family, list)
  local running = family.score.running
  if not running then
    return
  end
  list[#list + 1] = make_heads(sides.keys, family, "drunning", PLAIN_TYPE, "gradients, laid out as `running`",
    #running.token_numbers > 1 and tostring(#running.token_numbers) or nil)
  list[#list + 1] = running.products[1] and make_heads(sides.keys, family, "dproducts", GLOBAL_TYPE,
    ("[%d][%s][HEADS] gradients of products of rows and learned vectors"):format(#running.products, sides.keys.rows),
    #running.products > 1 and tostring(#running.products) or nil) or nil
end

-- Adds to a list the members of the workspace for a family's backward pass. sides: the result of get_sides().
-- family.attends: the form of the attention in device code (plan/deriving/cuda_half.lua).
local function add_workspace_members(sides, family, list)
  local attends, normaliser = family.attends, family.normaliser
  local sequence_words = attends.stores_pairs and " at a time" or ""
  local function add(member)
    list[#list + 1] = member
  end
  if attends.visits_by_distance then
    local weights_text = normaliser.normalised and "weights, not yet divided by their sum" or "weights"
    local offset = family.terms.visits_outwards and "key - query modulo T" or "query - key"
    local pairs_text = family.terms.scans_logits and "counts" or "chances of no match"
    add(make_pairs(sides, family, "weights", GLOBAL_TYPE,
      ("[sequences%s][HEADS][%s][queries] %s"):format(sequence_words, offset, weights_text)))
    add(make_pairs(sides, family, "pairs", GLOBAL_TYPE,
      ("laid out as `weights`: %s, then gradients of logits"):format(pairs_text)))
  end
  if family.terms.visits_outwards then
    add(make_heads(sides.queries, family, "query_sums", GLOBAL_TYPE,
      ("[%sQUERY_SUMS][sequences][HEADS][T] each query's part of the gradients of geometric_numbers")
        :format(family.PREFIX), family.PREFIX .. "QUERY_SUMS"))
  elseif family.on_device.terms.scans_logits then
    add(make_products(sides, family, sequence_words))
  elseif attends.in_fragments then
    add(make_heads(sides.queries, family, "starts", PLAIN_TYPE,
      "[sequences][HEADS][T][2] -log_sum, and minus the product of each output with its gradient", "2"))
  elseif not attends.visits_by_distance then
    add(make_heads(sides.queries, family, "delta", PLAIN_TYPE,
      "[sequences][HEADS][T] product of each output with its gradient"))
    if attends.stores_pairs then
      add(make_pairs(sides, family, "pairs", PLAIN_TYPE,
        "[sequences at a time][HEADS][queries][keys] gradients of logits"))
    end
  end
  if attends.stores_pair_scores then
    add(make_pairs(sides, family, "pair_scores", GLOBAL_TYPE, "gradients of scores, laid out as `pairs`"))
  end
  if family.relative.biases then
    add(make_heads(sides.keys, family, "key_sums", GLOBAL_TYPE,
      ("[%s][HEADS] sums of the gradients of each key's logits"):format(sides.keys.rows)))
  end
  add_running_gradients(sides, family, list)
  add_row_sums(sides, family, list)
  if attends.uniform_count then
    add(make_heads(sides.queries, family, "head_sums", GLOBAL_TYPE,
      "[tables][sequences][HEADS][T] sums of the gradients of each query's scores", tostring(attends.uniform_count)))
  end
end

-- The member for a buffer of buffers.lua. pair_names: the result of find_names_of_pair_loops().
local function convert_to_member(device, buffer, pair_names)
  local width, type = buffer.form == "rows" and buffer.width, pair_names[buffer.name] and PLAIN_TYPE or GLOBAL_TYPE
  return make_rows(device.variables[buffer.stream], buffer.name, type, width, buffer.comment)
end

-- Whether the backward pass reads the input of the repetitions of a block, or of the first block of a group.
local function reads_input(device, block)
  local reader = scope_lists.find_block_storing_input(block)
  return device.buffers.scopes[reader].read_backward[reader.input_value] or false
end

-- Whether each repetition of a group stores a value. An operation of the group itself (not a block) must make it, and
-- the value must be one of these:
--   the group's output
--   a carried value (scope_lists.lua)
--   a value that the backward pass reads, also as the input of a block
function M.is_stored_in_group(device, value)
  local group = value.scope
  if not group.is_group or not value.op or value.op.kind == "block" then
    return false
  elseif value == group.output_value or value.carried or device.buffers.scopes[group].read_backward[value] then
    return true
  end
  return lists.any(group.ops, function(op)
    return op.kind == "block" and op.x == value and reads_input(device, op.block)
  end) and true or false
end

-- The block or group whose state stores the output of `block`. A group that ends with an inner block does not store the
-- inner block's output again.
function M.find_holder(block)
  local maker = block.output_value.op
  return block.is_group and maker.kind == "block" and M.find_holder(maker.block) or block
end

-- The members of a group's state, its output last.
function M.list_kept_in_group(device, group)
  local members, is_listed = {}, {}
  for _, buffer in ipairs(device.buffers.scopes[group].state_buffers) do
    members[#members + 1] = convert_to_member(device, buffer, {})
    is_listed[buffer.name] = true
  end
  for _, value in ipairs(lists.collect(device.lists[group].forward, ops.list_results)) do
    if M.is_stored_in_group(device, value) and not is_listed[value.name] then
      members[#members + 1] = make_rows(device.variables[value.stream], value.name, GLOBAL_TYPE, value.width,
        value == group.output_value and "input of the next " .. group.name
          or value.carried and "input of its first layer" or nil)
    end
  end
  return members
end

-- The members of a layer's state, its output last. The members of an attention stand together, before the member for
-- the attention's result: one instruction can load several adjacent members.
function M.list_kept(device, block)
  local members, pair_names = {}, find_names_of_pair_loops(device)
  for _, buffer in ipairs(device.buffers.scopes[block].state_buffers) do
    if buffer.form == "family" then
      local attended = table.remove(members)
      add_stored_members(get_sides(device, buffer.writer), buffer.family, members)
      members[#members + 1] = attended
    elseif buffer.form ~= "mask" and buffer.name ~= "input" and not device.unused[block].values[buffer.name] then
      members[#members + 1] = convert_to_member(device, buffer, pair_names)
    end
  end
  local output = block.output_value
  members[#members + 1] = make_rows(device.variables[output.stream], "output", GLOBAL_TYPE, output.width,
    "input of the next layer")
  return members
end

-- Whether chains (chains.lua) replace all operations that write a buffer of gradients.
local function is_unused(device, buffer)
  local is_replaced = false
  for _, scope in ipairs(device.net.order) do
    local names = device.unused[scope]
    if names and names.gradients[buffer.name] then
      is_replaced = true
    elseif lists.any(device.lists[scope].backward, function(entry)
      return lists.has(lists.get_names(buffers.list_written(entry)), buffer.name) end) then
      return false
    end
  end
  return is_replaced
end

-- Returns two lists of members of the workspace:
--   always     values that no layer stores
--   training   gradients, and the workspace of attention: only for training
function M.list_workspace(device)
  local always, training, pair_names = {}, {}, find_names_of_pair_loops(device)
  local block_results = {} -- the set of the names of the results of blocks, which layers store
  local outer_lists = lists.map(device.net.order, function(scope)
    return (scope == device.net or scope.is_group) and device.lists[scope] or nil
  end)
  for _, op in lists.iterate_nested(outer_lists, "forward") do
    if op.kind == "block" then
      block_results[op.out.name], block_results[buffers.name_for_stream("output", op.out)] = true, true
    elseif op.out.carried and not M.is_stored_in_group(device, op.out) then
      always[#always + 1] = make_rows(device.variables[op.out.stream], op.out.name, GLOBAL_TYPE, op.out.width,
        "input of the first layer")
    end
  end
  for _, buffer in ipairs(device.buffers.workspace) do
    if buffer.form ~= "mask" and buffer.form ~= "family" and not block_results[buffer.name]
      and not is_unused(device, buffer) then
      table.insert(buffer.training and training or always, convert_to_member(device, buffer, pair_names))
    end
  end
  for _, op in ipairs(ops.find_all(device.net, "attention")) do
    add_workspace_members(get_sides(device, op), op.family, training)
  end
  return always, training
end

function M.write_lines(members)
  return calls.write_members(lists.map(members, function(member)
    return { type = member.type, name = member.name, key = member.type, comment = member.comment }
  end))
end

return M
