-- The network on the CPU: its lists, with the names that functions and values have in generated code.
--
-- Input: a network (builder.lua), its lists, structs of parameters, buffer_lists: its buffers. Output, pure data:
--   blocks      { name, comment, count, layers, uses, loops, repetitions, forward, backward, ... } in order; count,
--               uses: as C text; layers, repetitions: their values; own_input: the name of the first repetition's input
--               if it has another buffer than those of later repetitions, else false; panels: whether it has panels of
--               weights; asks: whether `forward` depends on the mode; gradient: the buffer of the stream's gradient
--   pass        the steps of one block of sequences: { train, evaluate, backward, trace }, trace: evaluation that
--               stores values; reads, asks: whether `train` reads parameters and depends on the mode
--   products    the functions that multiply, each compiled once: { name, inner, columns, finish, other, x, y };
--               gradients: those of weights, { name, inner, columns, bias }
--   rows        the functions over rows (norms, sums, activations), each compiled once: { template, name, width, ... }
--   part        if unused rows are left out (labelled_rows.lua), the cost of one such row: { per_token, per_pair:
--               as text; pairs: by family }, else false; of blocks: whether the last repetition leaves rows out, by
--               direction
--   vocabulary  if a block's first repetition has rows of symbols for tokens (vocabulary_rows.lua), the cost of a row:
--               { per_token }, else false; of blocks: whether the first repetition does so, by direction
--   members     of the workspace: buffers (buffers.lua), as lines of a struct; requests: the buffers that lay_out
--               places; workspace: the same as data; blocks have all three for their state, with `kept` as data
--   places      dropouts of a layer, at most; masks: whether values have masks; tied: the table of tokens that is the
--               output layer's weight, or false
--   attended    name of a family -> { queries, keys, contribution }: the names of these values in a layer's state
--   embeddings  { routine, vectors, scale, stream, of, drops, keep, place, additive, vocabulary }, one for each
--               function: embeddings.lua
--   labelled    the prefix of the labelled stream's lengths
--   decoding    if the labelled stream can be decoded token by token (decoding.lua), else false: ahead, the part that
--               runs once; each, the part that runs with every token; ahead_reads, each_reads: whether they read
--               parameters; blocks: the blocks of the stream, { name, uses, caches, cached, ahead, each }, where ahead
--               and each are functions with the names that they read; stream: its number; of: as below
-- `of`, `labelled`: "source." in a workspace with lengths of several streams, else "". Lists are of records: calls.lua.

local buffers = require("network.lists.buffers")
local builder = require("network.graph.builder")
local calls = require("network.targets.calls")
local decoding = require("network.lists.decoding")
local embeddings = require("network.targets.embeddings")
local lists = require("base.lists")
local names = require("network.targets.cpu_names")
local ops = require("network.graph.ops")
local records = require("network.targets.cpu_records")
local cpu_buffers = require("network.targets.cpu_buffers")
local rows = require("network.targets.cpu_rows")

local M = {}

-- The records of evaluation with tracing: a record that traces values follows each embedding, and the record of a block
-- also traces its attentions and results.
local function make_trace(cpu)
  local list = {}
  for _, record in ipairs(records.list_forward(cpu, cpu.net, "evaluate")) do
    list[#list + 1] = record
    if record.kind == "embed" then
      calls.append("cpu", list, "trace", nil, { call = "trace_activation(self, tokens, x, 'to++')",
        self = not record.traced and record.self, x = record.out, tokens = record.traced })
    elseif record.kind == "block" then
      record.template = "cpu/op/trace_block.tpl"
      record.families = cpu_buffers.list_families(cpu.buffers.scopes[cpu.net.scopes[record.name]].kept)
    end
  end
  return list
end

local function make_block(cpu, block, panels)
  local kept, read = cpu.buffers.scopes[block].kept, cpu.buffers.scopes[block].read
  local made, back_made = records.list_forward(cpu, block, "forward"), records.list_backward(cpu, block)
  local forward, backward = calls.find_read(made), calls.find_read(back_made)
  local function get_both(name)
    return { forward = forward[name] or false, backward = backward[name] or false }
  end
  return {
    name = block.name, comment = block.comment, parameters_type = block.parameters_type,
    part = get_both("part"), vocabulary = get_both("distinct"), uses_parameters = get_both("p"),
    count = block.count_name, layers = block.count, loops = block.loops, uses = block.uses,
    repetitions = block.count * block.loops,
    members = cpu_buffers.write_members(cpu.net, kept), kept = cpu_buffers.describe(kept),
    requests = cpu_buffers.list_requests(cpu.net, kept, "s->", "used"),
    own_input = not block.first.carried and read[block.entry] and block.first.name or false,
    panels = #panels > 0, asks = forward.train or false,
    forward = made, backward = back_made, gradient = buffers.name_for_stream("gradient", block.last),
  }
end

local function list_embeddings(cpu)
  return embeddings.list_functions(cpu.net, function(op)
    return { keep = op.keep or false, stream = op.stream.index, of = cpu_buffers.get_prefix(cpu.net, op.stream),
      place = op.place or 0, vocabulary = cpu.vocabulary and cpu.vocabulary.embed == op or false }
  end)
end

-- The names in a layer's state of the queries, keys and contribution of its attention, by family.
local function name_attended(net)
  local by_family = {}
  for _, op in ipairs(ops.find_all(net, "attention")) do
    by_family[op.family.name] = { queries = op.q.name, keys = op.kv.name,
      contribution = op.contribution and op.contribution.name or false }
  end
  return by_family
end

-- A block's function that runs before all tokens (ahead) or with every token: its records and the names they read.
local function make_part(cpu, block, stream, ahead, cached)
  local list = records.list_decoding(cpu, block, stream, ahead)
  local read = calls.find_read(list)
  return { routine = block.name .. (ahead and "_prepare" or "_decode"), input = not ahead, cached = cached,
    name = block.name, loops = block.loops, count = block.count_name, parameters_type = block.parameters_type,
    list = list, parameters = read.p or false, panels = read.panels or false, state = read.s or false }
end

local function make_decoded_block(cpu, block, stream)
  local caches = {}
  for i, op in ipairs(decoding.list_attentions(block, stream)) do
    local prefix = cpu_buffers.get_prefix(cpu.net, op.kv.stream)
    local own = op.kv == op.q
    caches[i] = { name = op.family.name, of = prefix, own = own, width = own and "3 * WIDTH" or "2 * WIDTH",
      tiles = op.family.tiles, sums = op.family.score.running and true or false }
  end
  local cached = #caches > 0
  return { name = block.name, uses = block.uses, caches = caches, cached = cached,
    ahead = make_part(cpu, block, stream, true, cached), each = make_part(cpu, block, stream, false, cached) }
end

-- The parts of decoding. Blocks of the decoded stream run with every token; before all tokens only if they have work.
local function make_decoding(cpu, stream)
  local net = cpu.net
  local part = { stream = stream.index, of = cpu_buffers.get_prefix(net, stream), blocks = {},
    ahead = records.list_decoding(cpu, net, stream, true), each = records.list_decoding(cpu, net, stream, false) }
  for _, record in ipairs(part.each) do
    if record.kind == "block" then
      local block = make_decoded_block(cpu, net.scopes[record.name], stream)
      part.blocks[#part.blocks + 1] = block
      local cache = block.cached and ("&c.%s[l]"):format(block.name)
      record.routine, record.cache = block.name .. "_decode", cache
      calls.fill("cpu", record)
      if block.ahead.list[1] then
        calls.append("cpu", part.ahead, "block", nil, { call = record.call, template = record.template,
          routine = block.name .. "_prepare",
          uses = block.uses, self = record.self, cache = cache, input = false, output = false })
      end
    end
  end
  part.ahead_reads, part.each_reads = calls.find_read(part.ahead).p or false, calls.find_read(part.each).p or false
  return part
end

-- A sum of numbers in C, as a factor.
local function write_sum(texts)
  return texts[2] and "(" .. table.concat(texts, " + ") .. ")" or texts[1] or "0"
end

-- part: the labelled rows (labelled_rows.lua), or nil; vocabulary: the equal rows (vocabulary_rows.lua), or nil.
-- Buffers for both are added. stream: the stream that is decoded token by token, or nil. eval_dropout: evaluation
-- applies dropout. panels_of: the workspace's member with the panels of weights.
function M.derive(net, executed, structs, buffer_lists, part, vocabulary, stream, eval_dropout, panels_of)
  local taken, tied = names.list_taken(), net.classified.op.tied
  -- part_names, part_taken: names of buffers for copied labelled rows, and those that the network's pass has filled
  local cpu = { net = net, lists = executed, buffers = buffer_lists, part = part, part_names = {}, part_taken = {},
    vocabulary = vocabulary, eval_dropout = eval_dropout, panels_of = panels_of, products = calls.make_functions(taken),
    gradients = calls.make_functions(taken), rows = calls.make_functions(taken) }
  rows.add_buffers(cpu)
  local structs_by_name = lists.index_by(structs, function(struct) return struct.name end)
  local blocks = lists.map(net.scopes, function(block)
    return make_block(cpu, block, structs_by_name[block.parameters_type].panels)
  end)
  local pass = { train = records.list_forward(cpu, net, "train"), evaluate = records.list_forward(cpu, net, "evaluate"),
    backward = records.list_backward(cpu, net), trace = make_trace(cpu) }
  local read = calls.find_read(pass.train)
  pass.reads, pass.asks = read.p or false, read.train or false
  return { blocks = blocks, pass = pass, products = cpu.products.list, gradients = cpu.gradients.list,
    rows = cpu.rows.list, members = cpu_buffers.write_members(net, cpu.buffers.workspace),
    part = part and { per_token = write_sum(part.token_texts), per_pair = write_sum(part.pair_texts),
      pairs = part.pairs } or false,
    vocabulary = vocabulary and { per_token = write_sum(vocabulary.token_texts) } or false,
    requests = cpu_buffers.list_requests(net, cpu.buffers.workspace, "w->", "&used"),
    workspace = cpu_buffers.describe(cpu.buffers.workspace),
    tied = tied and tied.name or false, places = builder.count_places(net),
    masks = lists.any(net.order, function(scope) return next(scope.masks) ~= nil end),
    embeddings = list_embeddings(cpu), attended = name_attended(net),
    decoding = stream and make_decoding(cpu, stream) or false,
    labelled = cpu_buffers.get_prefix(net, net.classified.op.x.stream) }
end

return M
