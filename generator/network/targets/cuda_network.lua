-- The network in device code: the same lists as on the CPU, with names of device code, for templates/cuda.
--
-- Input: a network (builder.lua), its lists (scope_lists.lua), and the choices of cuda_half.lua. Output, pure data:
--   blocks     { name, comment, count, loops, uses, state, members, first, in_place, mask, forward, backward, ... } in
--              order; state: the C type of what a repetition stores, with `members`; first: the place of the block's
--              input; with loops, the backward pass starts at the last use: uses from first_use on store gradients,
--              and lower uses add to them
--   pass       the lists of a thread block's work outside the network's blocks: { train, evaluate }
--   rows       functions over rows, each compiled once: { template, name, ... }
--   always     members of the workspace (cuda_buffers.lua) in both modes; training: members that only training has;
--              lines: both as lines of C, by the same names
--   operands   if given.by_team, { list, members, row_words }; list: the products whose operands shards store, each
--              { name, rows, T, uses, count, loops, weight, bias, inner, columns } with texts of weights.tpl (dweight,
--              dbias, before, between); members: their parameters; row_words: as below
--   place_sums sums of the rows of learned position tables, which are added over shards (list_place_sums)
--   masks      groups of dropout sites of the model's width: { first, places, layer, places_of, below_text, stream_text
--              }; first: number of the first site; places: sites in one repetition; layer: number of the first
--              repetition in the counter of random words; places_of: places in this counter, false for 0, 1, ...;
--              below_text, stream_text: C texts of a site's threshold and stream
--   sites      the number of dropout sites of the model's width in all layers and repetitions
--   places     the most dropout sites that a layer has, of any width
--   bits       masks of another width, and of attention's weights, an array each: { name, uses, bytes, about, layer,
--              place, below }; bytes: the bytes of a sequence
--   drops      whether there are masks in `masks` or in `bits`
--   attends, embeddings   names of the values of attentions and of embeddings: cuda_names.lua
--   streams    the variables of each stream (cuda_buffers.lua); lengths: the type of the argument T, a number with one
--              stream, a struct with several; row_words, also of blocks: declarations of the streams' rows; most_rows:
--              { text, about }, the rows of the longer stream; tokens: the names of the arrays of tokens; labelled:
--              the T of the labelled stream
--   phases     names of a wide model's phases (launches.lua); most_launches: C text; both false for a narrow model
--   tied       the table of tokens that is the output layer's weight, or false
--   readout_gradient   the buffer of the gradient of the labelled tokens, which the loss writes
--   rms, loops, rounds   whether a norm is an RMS norm, whether a block has loops, and whether products read rounded
--              copies of weights in training
--   decoding   false, or, if a stream is decoded with cached keys and values, { each, caches, tokens, index }; each:
--              the network's records for one token of each sequence (a block has its own in decoding.list); caches:
--              { block, name, uses, T, own, width }; own: attention copies new rows; tokens, index: of that stream
--   chained    whether some pair of products is a chain (chains.lua); the field `chains` of a block: of this block
--   biased     whether some product of a wide model adds a bias
-- Lists are records (cuda_records.lua). Lists of a wide model are { list, phases, reads, reads_in_phases }: the host's
-- list of launches, phases with their records, and the arguments that the host's list and the phases read.
-- Between blocks values lie in the workspace by their names; in evaluation a block works in place if no other operation
-- reads its input. A network without device code is an error { problem = true, what, line } of the description.

local buffers = require("network.lists.buffers")
local builder = require("network.graph.builder")
local calls = require("network.targets.calls")
local chains = require("network.targets.chains")
local launches = require("network.targets.launches")
local cuda_names = require("network.targets.cuda_names")
local decoding = require("network.lists.decoding")
local lists = require("base.lists")
local ops = require("network.graph.ops")
local records = require("network.targets.cuda_records")
local cuda_buffers = require("network.targets.cuda_buffers")
local warp_products = require("network.targets.warp_products")
local wording = require("base.wording")

local M = {}

-- Names (cuda_records.lua) in the host's list of launches: for a block, where x is a layer's input, and for the
-- network.
local IN_LIST = { w = "w->", kept = "s->", p = "p->", g = "g->", input = "x" }
local IN_NETWORK = { w = "w.", kept = "w.", p = "p->", g = "g->", state = "%s[%s - 1].output" }

-- Refuses a network for which there is no device code.
local function check_network(net)
  local attentions = ops.find_all(net, "attention")
  for _, op in ipairs(ops.find_all(net, "place")) do
    local scope = op.scope
    if scope.loops > 1 and op.p and not op.p.frozen then
      records.refuse(scope, "block %s, which runs %d times over, with learned vectors of positions", scope.name,
        scope.loops)
    end
  end
  for _, op in ipairs(attentions) do
    local scope, family = op.scope, op.family
    local is_learned = family.relative.kind ~= "none" or family.score.trains or family.normaliser.kind == "geometric"
    if not scope.entry then
      records.refuse(op, "attention outside of a block")
    elseif family.score.running then
      records.refuse(op, "attention %s, whose score sums values of tokens (sum_between)", family.name)
    elseif scope.loops > 1 and is_learned then
      records.refuse(scope, "block %s, which runs %d times over, with an encoding that learns in attention",
        scope.name, scope.loops)
    end
  end
  if not attentions[1] then
    records.refuse(nil, "a network without attention")
  end
end

-- The kinds of operations that apply dropout in their own records.
local APPLIES_DROPOUT = { add = true, add_norm = true, embed = true, place = true }

-- The entries { kind, one, of_backward } of a list; `one`: an operation, or an entry of a backward list. The dropout of
-- a result is an entry of its own, of kind "drop", except for the kinds of APPLIES_DROPOUT.
local function list_entries(list, of_backward)
  return lists.collect(list, function(one)
    local drops = not of_backward and one.dropout and one.keep and not APPLIES_DROPOUT[one.kind]
    return { { kind = one.kind, one = one, of_backward = of_backward },
      drops and { kind = "drop", one = one, of_backward = false } or nil }
  end)
end

-- The records of a list's entries. decodes: the records process one token of each sequence.
local function make_records(device, scope, training, list, decodes)
  local at, list_records = records.make_names(device, scope, decodes or false), {}
  for _, entry in ipairs(list) do
    calls.append("cuda", list_records, entry.kind, records.make_records(device, scope, training, at, entry))
  end
  return list_records
end

-- The records of a scope that process one token of each sequence of the decoded stream.
local function make_decoding_records(device, scope, list)
  local decoded = lists.filter(list, function(entry) return entry.one.out.stream == device.given.decoded end)
  return lists.map(make_records(device, scope, scope ~= device.net, decoded, true), function(record)
    return record.asked ~= "training" and lists.merge(record, { asked = false }) or nil
  end)
end

-- A block's records in decoding, and what its repetitions cache: rows of op.kv, and of keys' products with biases.
local function make_decoded_block(device, block, list)
  local caches = lists.collect(decoding.list_attentions(block, device.given.decoded), function(op)
    local family, is_self_attention = op.family, op.q == op.kv
    local cache = { block = block.name, uses = block.uses, T = device.words[op.kv.stream].T }
    return { lists.merge(cache, { name = op.kv.name, own = is_self_attention,
      width = is_self_attention and "3 * WIDTH" or "2 * WIDTH" }),
      family.terms.biases and lists.merge(cache, { name = family.prefix .. "key_bias", own = false,
        width = family.PREFIX .. "HEADS" }) or nil }
  end)
  return { list = make_decoding_records(device, block, list), caches = caches }
end

-- The constant below which a random word drops an element of an operation's result.
local function name_drop_below(op)
  return op.dropout.name .. "_DROP_BELOW"
end

-- The text that write_text returns for all operations of a list; if their texts differ, an expression in C that selects
-- the text of an operation by its place. type: a cast before each selected text.
local function select_text(list, write_text, type)
  local last = write_text(list[#list])
  local text, are_equal = type .. last, true
  for i = #list - 1, 1, -1 do
    are_equal = are_equal and write_text(list[i]) == last
    text = are_equal and text or ("place == %d ? %s%s : %s"):format(list[i].place, type, write_text(list[i]), text)
  end
  return are_equal and last or text
end

-- The places of a list's operations in the random-number counter; false if they are 0, 1 and so on.
local function list_places(list)
  local places, are_consecutive = {}, true
  for i, op in ipairs(list) do
    places[i], are_consecutive = op.place, are_consecutive and op.place == i - 1
  end
  return not are_consecutive and places
end

-- The masks of an operation in all repetitions of its scope, in the form of `bits`.
local function make_bits(device, scope, op)
  local bits = { uses = scope.uses, layer = scope.first_site, place = op.place, below = name_drop_below(op) }
  if op.kind == "attention" then
    local T, S = device.words[op.q.stream].T, device.words[op.kv.stream].T
    bits.name = op.family.name .. "_weights_keep"
    bits.bytes = ("((size_t)%s * %s * %sHEADS + 7) / 8"):format(T, S, op.family.PREFIX)
    bits.about = "one bit for element (h * queries + query) * keys + key of attention's weights"
  else
    bits.name = (scope ~= device.net and scope.name .. "_" or "") .. op.keep
    bits.bytes = ("(size_t)%s * (%s / 8)"):format(device.words[op.out.stream].T, op.out.width.text)
    bits.about = ("[tokens][%s] one bit per element"):format(op.out.width.text)
  end
  return bits
end

-- Derives the masks of a scope's operations: one group of masks of the model's width, in the order of their places,
-- repetition after repetition; and an array for each other mask.
local function derive_masks(device, scope)
  local masked = {}
  for _, op in ipairs(device.lists[scope].forward) do
    if op.dropout and op.keep and op.out.width.text == "WIDTH" then
      masked[#masked + 1], device.mask_numbers[op] = op, #masked
    elseif op.dropout then
      device.operation_bits[op] = make_bits(device, scope, op)
      table.insert(device.bits, device.operation_bits[op])
    end
  end
  if masked[1] then
    local mask = { first = device.sites, places = #masked, layer = scope.first_site,
      places_of = list_places(masked), below_text = select_text(masked, name_drop_below, "(unsigned int)"),
      stream_text = select_text(masked, function(op) return tostring(op.out.stream.index) end, "") }
    device.masks[#device.masks + 1], device.scope_masks[scope] = mask, mask
    device.sites = device.sites + #masked * scope.count * scope.loops
  end
end

-- The arguments that the statements of a function read: name -> whether they read it.
local function find_read(list)
  local read_names = calls.find_read(list)
  local reads = { l = false, x = false }
  for _, name in ipairs({ "w", "s", "p", "g", "training" }) do
    reads[name] = read_names[name] or false
  end
  for _, record in ipairs(list) do
    reads.training = reads.training or record.arguments and lists.has(record.arguments, "training") or false
    reads.l = reads.l or record.phase or record.product == "weight" and record.first_use ~= false
    reads.x = reads.x or record.x == IN_LIST.input
  end
  return reads
end

-- The record in the host's list for all launches of a block.
local function launch_block(device, launch)
  local block, kind = device.made[launch.block], launch.entry.kind
  local way = kind == "block" and "forward" or "backward"
  return calls.fill("cuda", { kind = "list_block", block = true, name = block.name, uses = block.uses, way = way,
    index = block.index, layer = block.layer, first = block.of_host, reads = block[way].reads })
end

-- The calls of backward products in the host's list; forward products have their own template.
local CALLS = {
  weight = "weight_gradient('list', of_rows, inner, columns, x, dy, adds, dweight)",
  input = "input_gradient('list', of_rows, inner, columns, dy, weight, adds, to)",
}

-- A scope's list, cut into launches, in the form { list, phases, reads, reads_in_phases }.
local function make_launches(device, scope, training, list)
  -- layer: C text of the layer of the next phase; outside blocks, of the last layer that ran
  local at, layer = scope == device.net and IN_NETWORK or IN_LIST, scope.entry and scope.index or "0"
  local host, phases, all = {}, {}, {}
  for i, launch in ipairs(launches.cut(list, scope.entry and scope.name, device.adds_bias)) do
    local phase = launch.ops and launch or launch.bias
    if phase then
      phases[#phases + 1] = { name = phase.phase, ops = make_records(device, scope, training, phase.ops) }
      lists.append(all, phases[#phases].ops)
    end
    if launch.ops then
      host[i] = calls.fill("cuda", { call = "list_phase('list', phase, layer)", phase = launch.phase, layer = layer })
    elseif launch.block then
      host[i] = launch_block(device, launch)
      layer = launch.entry.kind == "block" and launch.block.uses .. " - 1" or "0"
    else
      local names, record = records.make_records(device, scope, training, at, launch.entry)
      local first_use = scope.first_use
      record.kind, record.product, record.call = "list_" .. launch.product, launch.product, CALLS[launch.product]
      local x = (launch.entry.one.op or launch.entry.one).x
      record.of_rows = device.net.streams[2] and "list->" .. device.words[x.stream].rows or false
      if launch.product == "weight" then
        record.adds, record.first_use = device.loops and (first_use and "use < " .. first_use or "false"),
          first_use or false
      end
      record.phase, record.layer = phase and phase.phase or false, layer
      host[i] = calls.fill("cuda", record, names)
      device.biased = device.biased or phase ~= nil
    end
  end
  return { list = host, phases = phases, reads = find_read(host), reads_in_phases = find_read(all) }
end

-- The number of launches of a step, as C text: a constant, and a count for each use of a block.
local function count_launches(blocks, train)
  local fixed = 2 + lists.count(train.list, function(launch) return not launch.block end) -- 2: begin, end
  local words = lists.map(blocks, function(block)
    return ("%d * %s"):format(#block.forward.list + #block.backward.list, block.uses)
  end)
  return ("%d + %s"):format(fixed, table.concat(words, " + "))
end

-- The names of all phases, each once: those outside of blocks, then block by block.
local function list_phases(pass, blocks)
  local all = lists.collect(blocks, function(block) return { block.forward, block.backward } end)
  return lists.drop_repeats(lists.collect(lists.join({ pass.train, pass.evaluate }, all), function(list)
    return lists.get_names(list.phases)
  end))
end

local function find_kind(list, kind)
  return lists.find(list, function(entry) return entry.kind == kind end)
end

-- The variables of the streams whose rows a member, or an operand of a product, has.
local function find_streams(device, members)
  local known = lists.to_set(lists.map(members, function(member) return member.words end))
  return lists.filter(device.streams, function(words) return known[words] end)
end

-- The entry of `blocks` for an operation of kind "block".
local function make_block(device, op)
  local block, executed = op.block, device.lists[op.block]
  local forward, backward = list_entries(executed.forward, false), list_entries(executed.backward, true)
  device.unused[block] = { values = {}, gradients = {} }
  if device.given.chains then
    forward, backward, device.unused[block] = chains.chain(forward, backward, device.given.by_team)
  end
  local members = cuda_buffers.list_kept(device, block)
  local record = {
    name = block.name, article = wording.choose_article(block.name), comment = block.comment,
    state = block.name .. "_state", count = block.count_name, loops = block.loops, uses = block.uses,
    index = block.index, layer = block.loops > 1 and "use % " .. block.count_name or "l", first_use = block.first_use,
    parameters_type = block.parameters_type, gradients_type = block.gradients_type,
    members = members, lines = cuda_buffers.write_lines(members),
    row_words = cuda_buffers.declare_rows(find_streams(device, members)), mask = device.scope_masks[block] or false,
    drops = lists.any(executed.forward, function(operation) return operation.dropout ~= nil end),
    in_place = op.x.carried and op.x.carried.block == block or false,
    first = records.place_in_network(records.make_names(device, device.net), op.x),
    of_host = records.place_in_network(IN_NETWORK, op.x),
  }
  device.made[block] = record
  record.chains = lists.any(forward, function(entry) return entry.kind == "chain" end)
  record.forward = device.make_list(device, block, true, forward)
  record.decoding = device.given.decoded == op.out.stream and make_decoded_block(device, block, forward)
  record.backward = device.make_list(device, block, true, backward)
  local wide = device.given.wide
  record.forward_reads = wide and record.forward.reads_in_phases or find_read(record.forward)
  record.decode_reads = record.decoding and find_read(record.decoding.list) or false
  record.backward_reads = wide and record.backward.reads_in_phases or find_read(record.backward)
  if wide then
    local phases = lists.get_names(lists.join(record.forward.phases, record.backward.phases))
    record.first_phase, record.last_phase = phases[1], phases[#phases] -- they enclose the block's phases in `phases`
  end
  return record
end

-- Sums of the rows of learned position tables, which are added over shards: { member, block, count, times, T, drawn }.
-- block: false for the embedding; times: the factor of the block's repetitions; drawn: the sampled positions, if any.
local function list_place_sums(device, net)
  local list, position_table = {}, net.position_table
  local has_sums = position_table and position_table.from_tables and not position_table.frozen
  for _, stream in ipairs(has_sums and net.streams or {}) do
    local words, op = device.words[stream], lists.find(net.ops, function(operation)
      return operation.kind == "embed" and operation.stream == stream and operation.encoding
    end)
    list[#list + 1] = op and { member = words.at .. "places", block = false, times = "", T = words.T,
      drawn = cuda_names.name_input_draws(words, op.encoding.draw) } or nil
  end
  for _, block in ipairs(net.scopes) do
    local op = find_kind(device.lists[block].forward, "place")
    local member, words = op and records.name_place_sums(op), op and device.words[op.out.stream]
    list[#list + 1] = member and { member = member, block = block.name, count = block.count_name,
      times = block.count_name .. " * ", T = words.T, drawn = cuda_names.name_drawn_places(words, op, "l") } or nil
  end
  return list
end

-- The state that the modules of device code share: the arguments; `buffers` (buffers.lua); streams, words: variables of
-- the streams, as a list and by stream; rows: the functions made so far; and
--   masks, scope_masks    groups of masks, as a list and by scope
--   mask_numbers          operation -> number of its mask in the group
--   bits, operation_bits  the other masks, as a list and by operation
--   made                  block -> its entry of `blocks`; unused: block -> buffers that chains make unnecessary
--   operands, rounded, rounded_values   see warp_products.lua
--   contributions         the set of the values that families request
local function make_state(net, executed, given)
  local device = { net = net, lists = executed, given = given, rows = calls.make_functions({}), masks = {},
    scope_masks = {}, mask_numbers = {}, bits = {}, operation_bits = {}, made = {}, unused = {}, sites = 0,
    operands = {}, rounded = {}, rounded_values = {}, buffers = buffers.derive(net, executed, given.evaluates),
    contributions = lists.to_set(lists.map(ops.find_all(net, "attention"), function(op) return op.contribution end)),
    make_list = given.wide and make_launches or make_records,
    loops = lists.any(net.scopes, function(block) return block.loops > 1 end) }
  device.rounds = given.rounds and not device.loops -- gradients of repeated layers are added up where the copies lie
  device.streams, device.words = cuda_buffers.name_streams(net)
  device.adds_bias = function(op) return records.adds_bias(device, op) end
  warp_products.find_rounded_values(device)
  return device
end

-- Neighbouring members of a scope's struct whose gradients products compute, as runs: { first, size }. sizes: by name.
local function find_runs(scope, sizes)
  local runs, run = {}, nil
  for _, parameter in ipairs(scope.parameters) do
    for _, name in ipairs({ parameter.name, parameter.bias and parameter.name .. "_bias" or nil }) do
      local size = sizes[name]
      if size and run then
        run.size = run.size .. " + " .. size
      else
        run = size and { first = name, size = size } or nil
        runs[#runs + 1] = run
      end
    end
  end
  return runs
end

-- The parameters whose gradients products compute, by block: { block, count, parameters_type, runs }.
local function list_product_parameters(device)
  return lists.map(lists.group(device.operands, function(product) return product.scope end), function(group)
    local scope, sizes = group.key, {}
    for _, product in ipairs(group) do
      sizes[product.weight] = product.inner .. " * " .. product.columns
      sizes[product.bias or false] = product.columns
    end
    return { block = scope ~= device.net and scope.name, count = scope.count_name or false,
      parameters_type = scope.parameters_type or false, runs = find_runs(scope, sizes) }
  end)
end

-- The products whose gradients the team sums over all tokens, and their parameters, in the form of `operands`.
local function list_operands(device)
  local streams, members = find_streams(device, device.operands), list_product_parameters(device)
  for _, product in ipairs(device.operands) do
    product.words, product.scope = nil, nil -- only for this module
  end
  return { list = device.operands, members = members,
    row_words = streams[1] and cuda_buffers.declare_rows(streams) or false }
end

-- given: wide (a library computes products: launches.lua), by_team (all thread blocks together sum gradients of
-- weights), rounds (in training, products may read rounded copies of weights), evaluates (evaluation applies dropout),
-- noise (on inputs), chains (products are cut by warp, and pairs may be chains), decoded (the stream that is decoded,
-- or nil).
function M.derive(net, executed, given)
  check_network(net)
  local device, of_net = make_state(net, executed, given), executed[net]
  for _, scope in ipairs(net.order) do
    derive_masks(device, scope)
  end
  local blocks = lists.map(ops.find_all(net, "block"), function(op) return make_block(device, op) end)
  local forward = list_entries(of_net.forward, false)
  local pass = { train = device.make_list(device, net, true, lists.join(forward, list_entries(of_net.backward, true))),
    evaluate = device.make_list(device, net, false, forward) }
  local always, training = cuda_buffers.list_workspace(device)
  return {
    decoding = given.decoded and { each = make_decoding_records(device, net, forward),
      tokens = device.words[given.decoded].tokens, index = given.decoded.index,
      caches = lists.collect(blocks, function(block)
        return block.decoding and block.decoding.caches or {}
      end) } or false,
    blocks = blocks, pass = pass, rows = device.rows.list, always = always, training = training,
    lines = { always = cuda_buffers.write_lines(always), training = cuda_buffers.write_lines(training) },
    masks = device.masks, sites = device.sites, places = builder.count_places(net), bits = device.bits,
    drops = device.masks[1] ~= nil or device.bits[1] ~= nil,
    attends = cuda_names.name_attentions(device), embeddings = cuda_names.list_embeddings(device),
    streams = device.streams, lengths = net.streams[2] and "lengths" or "int",
    row_words = cuda_buffers.declare_rows(device.streams), most_rows = cuda_buffers.name_most_rows(device.streams),
    tokens = table.concat(lists.map(device.streams, function(words) return words.tokens end), ", "),
    labelled = device.words[net.classified.op.x.stream].T,
    place_sums = list_place_sums(device, net), operands = list_operands(device),
    readout_gradient = find_kind(of_net.backward, "classify_grad").to.name,
    tied = net.classified.op.tied and net.classified.op.tied.name or false,
    rms = lists.any(ops.find_all(net, "norm"), function(op) return op.norm == "rms" end),
    loops = device.loops, rounds = device.rounds, chained = lists.any(blocks, function(block) return block.chains end),
    phases = given.wide and list_phases(pass, blocks) or false, biased = device.biased or false,
    most_launches = given.wide and count_launches(blocks, pass.train) or false,
  }
end

return M
