-- The arrays that layers and blocks of threads store in device code, as members of structs.
--
-- A member is { name, type, count, at_a_time, about, words }. count: elements for all sequences; at_a_time: equal to
-- count, or, of numbers for pairs, the elements for the sequences that attention processes at a time; both are texts
-- with the streams' variables; words: the variables of its stream (name_streams).
-- type: with "reals" the compiler knows that the array lies in global memory. The loops over pairs read "real *": with
-- "reals" they would need 10 to 20 registers more, with as many loads of memory.

local buffers = require("network.lists.buffers")
local calls = require("network.targets.calls")
local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

local PLAIN, GLOBAL = "real *", "reals"

-- The set of the names of values and gradients that attention reads or writes pair by pair.
local function find_names_of_pair_loops(device)
  local list = lists.collect(device.lists.order, function(scope)
    return lists.collect(device.lists[scope].backward, function(b)
      return b.kind == "attention_grad" and { b.op.q, b.op.kv, b.op.out, b.dy, b.dq, b.dkv } or {}
    end)
  end)
  return lists.to_set(lists.get_names(list))
end

-- Names of variables of each stream, as a list and by stream: index, the stream's number; T, the number of tokens of a
-- sequence (the argument T); rows, the number of tokens of all sequences, where members are laid out; all_rows, a
-- function for this number; tokens, the array of a block of threads' tokens; at, the prefix of names; input_draws,
-- sampled positions of vectors added to tokens; sequences, the function for positions of the block's sequences.
function M.name_streams(net)
  local list, by_stream = {}, {}
  for i, stream in ipairs(net.streams) do
    local several = net.streams[2] ~= nil
    local at = several and stream.name .. "_" or ""
    list[i] = { index = stream.index, at = at, T = several and "T." .. stream.name or "T",
      rows = at .. "rows", all_rows = ("all_%srows"):format(at), tokens = at .. "tokens",
      input_draws = at .. "input_draws", sequences = at .. "sequence_positions" }
    by_stream[stream] = list[i]
  end
  return list, by_stream
end

-- Declarations of the rows of streams, as text: of_sequences, the rows of some sequences; of_first, the rows before a
-- first sequence; of_host, only the number of rows.
function M.declare_rows(streams)
  local function write_each(form, first, second)
    return table.concat(lists.map(streams, function(words) return form:format(words[first], words[second]) end), ", ")
  end
  return { of_sequences = write_each("%s = (size_t)sequences * (size_t)%s", "rows", "T"),
    of_first = write_each("%s = (size_t)first * %s", "rows", "T"), of_host = write_each("sequences * %s", "T") }
end

-- The rows of the longer of at most two streams, as an expression, and words.
function M.name_most_rows(streams)
  if not streams[2] then
    return { text = "rows", about = "rows" }
  end
  local one, other = streams[1].rows, streams[2].rows
  return { text = ("(%s > %s ? %s : %s)"):format(one, other, one, other), about = "rows of the longer stream" }
end

-- per_row: the number of elements of a row, as text, or false for one.
local function make_member(words, name, type, per_row, about)
  local count = per_row and words.rows .. " * " .. per_row or words.rows
  return { name = name, type = type, count = count, at_a_time = count, about = about, words = words }
end

local function make_rows(words, name, type, width, about)
  local shape = ("[%s]"):format(words.rows) .. (width and ("[%s]"):format((width.text:gsub(" %* ", " "))) or "")
  return make_member(words, name, type, width and width.text or false, shape .. (about and " " .. about or ""))
end

-- A member with numbers for each row and head of a family; words: the variables of the rows' stream (queries or keys);
-- times: how many numbers, as text, by default one.
local function make_heads(words, family, name, type, about, times)
  local each = (times and times .. " * " or "") .. family.PREFIX .. "HEADS"
  return make_member(words, family.prefix .. name, type, each,
    (about:gsub("HEADS", family.PREFIX .. "HEADS", 1):gsub("LOGIT_SCALE", family.PREFIX .. "LOGIT_SCALE")))
end

-- A member with a number for each query, key and head of a family; sides: get_sides().
local function make_pairs(sides, family, name, type, about)
  local of_key = ("%sHEADS * (size_t)%s"):format(family.PREFIX, sides.queries.T)
  local member = make_member(sides.keys, family.prefix .. name, type, of_key,
    (about:gsub("HEADS", family.PREFIX .. "HEADS", 1)))
  if family.attends.pairs then
    member.at_a_time = ("(size_t)%spair_sequences(sequences, %s) * (size_t)%s * %s"):format(family.prefix, sides.keys.T,
      sides.keys.T, of_key)
  end
  return member
end

local function get_sides(device, op)
  return { queries = device.words[op.q.stream], keys = device.words[op.kv.stream] }
end

-- Adds the members that a layer stores for a family of attentions, to the list of the layer's members.
local function add_kept(sides, family, list)
  local function keep(words, name, type, about)
    list[#list + 1] = make_heads(words, family, name, type, about)
  end
  local T = family.cross and "S" or "T"
  if family.relative.biases then
    keep(sides.keys, "key_bias", PLAIN, ("[sequences][HEADS][%s] products of keys and content bias, times LOGIT_SCALE")
      :format(T))
  end
  if family.normaliser.normalised then
    keep(sides.queries, "inverse_total", GLOBAL, "[sequences][HEADS][T] inverse sum of each query's weights")
  elseif family.attends.in_fragments then
    keep(sides.queries, "log_sum", GLOBAL, "[sequences][HEADS][T] log2 of the sum of each query's weights")
  elseif family.normaliser.kind ~= "geometric" then
    keep(sides.queries, "largest", PLAIN, "[sequences][HEADS][T] largest score and inverse sum of each softmax")
    keep(sides.queries, "inverse_sum", PLAIN, "[sequences][HEADS][T] largest score and inverse sum of each softmax")
  end
end

-- Adds the members of the workspace for a family's backward pass to a list.
local function add_work(sides, family, list)
  local attends, normaliser = family.attends, family.normaliser
  local at_a_time = attends.pairs and " at a time" or ""
  local function add(one)
    list[#list + 1] = one
  end
  if normaliser.kind == "geometric" then
    local of_weights = normaliser.normalised and "weights, not yet divided by their sum" or "weights"
    add(make_pairs(sides, family, "weights", GLOBAL,
      ("[sequences%s][HEADS][key - query modulo T][queries] %s"):format(at_a_time, of_weights)))
    add(make_pairs(sides, family, "pairs", GLOBAL, "in the layout of weights: 1 - P, then gradients of logits"))
    add(make_heads(sides.queries, family, "query_sums", GLOBAL,
      "[numbers as in geometric_numbers][sequences][HEADS][T] gradients of the numbers by query",
      family.PREFIX .. "QUERY_SUMS"))
  elseif attends.in_fragments then
    add(make_heads(sides.queries, family, "starts", PLAIN,
      "[sequences][HEADS][T][2] minus the log_sum, minus the product of each output with its gradient", "2"))
  else
    add(make_heads(sides.queries, family, "delta", PLAIN,
      "[sequences][HEADS][T] product of each output with its gradient"))
    if attends.pairs then
      add(make_pairs(sides, family, "pairs", PLAIN, "[sequences at a time][HEADS][queries][keys] gradients of logits"))
    end
  end
  if attends.pair_scores then
    add(make_pairs(sides, family, "pair_scores", GLOBAL, "in the layout of pairs: gradients of scores"))
  end
  if family.relative.biases then
    add(make_heads(sides.keys, family, "key_sums", GLOBAL,
      ("[%s][HEADS] sums of the gradients of each key's logits"):format(sides.keys.rows)))
  end
  if attends.uniform_count then
    add(make_heads(sides.queries, family, "head_sums", GLOBAL,
      "[tables][sequences][HEADS][T] sums of the gradients of each query's scores", tostring(attends.uniform_count)))
  end
end

-- A buffer (buffers.lua) as a member. plain: the names of the buffers in loops over pairs.
local function convert(device, buffer, plain)
  local width, type = buffer.form == "rows" and buffer.width, plain[buffer.name] and PLAIN or GLOBAL
  return make_rows(device.words[buffer.stream], buffer.name, type, width, buffer.about)
end

-- The values that a layer stores, its output last. Values of attention lie together, with attention's result after
-- them: the compiler loads neighbours at once, and in another order attention over pairs has more instructions.
function M.list_kept(device, block)
  local list, plain = {}, find_names_of_pair_loops(device)
  for _, buffer in ipairs(device.buffers.scopes[block].kept) do
    if buffer.form == "family" then
      local attended = table.remove(list)
      add_kept(get_sides(device, buffer.writer), buffer.family, list)
      list[#list + 1] = attended
    elseif buffer.form ~= "keep" and buffer.name ~= "input" and not device.unused[block].values[buffer.name] then
      list[#list + 1] = convert(device, buffer, plain)
    end
  end
  local last = block.last
  list[#list + 1] = make_rows(device.words[last.stream], "output", GLOBAL, last.width, "input of the next layer")
  return list
end

-- Whether a buffer of gradients in the workspace is unnecessary: a block has chains (chains.lua) in place of the
-- operations that write it, and no other scope writes it.
local function is_unused(device, buffer)
  local unused = false
  for _, scope in ipairs(device.net.order) do
    local names = device.unused[scope]
    if names and names.gradients[buffer.name] then
      unused = true
    elseif lists.any(device.lists[scope].backward, function(b)
      return lists.any(buffers.list_written(b), function(one) return one.name == buffer.name end) end) then
      return false
    end
  end
  return unused
end

-- The members of the workspace: a list of values between blocks and values that no layer stores; and, for training
-- alone, a list of gradients and attention's workspace.
function M.list_workspace(device)
  local always, training, plain = {}, {}, find_names_of_pair_loops(device)
  local blocks_give = {}
  for _, op in ipairs(device.lists[device.net].forward) do
    if op.kind == "block" then
      blocks_give[op.out.name], blocks_give[buffers.name_for_stream("output", op.out)] = true, true
    elseif op.out.carried then
      always[#always + 1] = make_rows(device.words[op.out.stream], op.out.name, GLOBAL, op.out.width,
        "input of the first layer")
    end
  end
  for _, buffer in ipairs(device.buffers.workspace) do
    if buffer.form ~= "keep" and buffer.form ~= "family" and not blocks_give[buffer.name]
      and not is_unused(device, buffer) then
      table.insert(buffer.training and training or always, convert(device, buffer, plain))
    end
  end
  for _, op in ipairs(ops.find_all(device.net, "attention")) do
    add_work(get_sides(device, op), op.family, training)
  end
  return always, training
end

function M.write_lines(members)
  return calls.write_members(lists.map(members, function(m)
    return { type = m.type, name = m.name, key = m.type, about = m.about }
  end), 60)
end

return M
