-- The network on the CPU: its lists with the names that the generated code has for everything, for the templates of
-- templates/cpu/op.
--
-- Input: a network (builder.lua), its lists, structs of parameters, room: its buffers. Output, pure data:
--   blocks      { name, title, count, uses, loops, state, kept, forward, backward, ... } in order
--   pass        what one block of sequences goes through: { train, evaluate, backward }
--   products    the functions that multiply, each compiled once: { name, inner, columns, finish, other, of }
--   rows        likewise those that go over rows: norms, sums, activations: { template, name, width, ... }
--   members     of the workspace: buffers (buffers.lua), as lines of a struct; rooms: what lay_out takes for them;
--               workspace: the same as data; of blocks likewise, there `kept`
--   places      dropout sites of a layer, at most; tied: the output layer's weight is the table of tokens
--   attended    family -> { queries, keys }: what a layer's state calls them
--   embeddings  { routine, stream, of, drops, keep, place }, a function each; labelled: of which stream labels are
-- `of`, `labelled`: "source." where a workspace has the lengths of several streams, else "".
-- A record of an operation has its template and, by role, the text of what it is handed: "s->hidden", "p->up_bias".

local buffers = require("network.buffers")
local rooms = require("network.cpu_rooms")

local M = {}

local OP = "cpu/op/%s.tpl"

-- Functions of generated code, each once: by what they are compiled for, named after their first use.
local function functions()
  return { list = {}, by_key = {}, names = {} }
end

local function function_for(set, key, name, new)
  local known = set.by_key[key]
  if not known then
    local stem, number = name, 1
    while set.names[name] do
      number = number + 1
      name = ("%s_%d"):format(stem, number)
    end
    known, set.names[name] = new, true
    known.name = name
    set.by_key[key] = known
    set.list[#set.list + 1] = known
  end
  return known.name
end

-- What a scope's records need to name things: w, the workspace; s, the layer's state; p, g, panels.
local function scope_names(cpu, scope)
  if scope == cpu.net then
    return { w = "w.", self = "&w", kept = "w.", p = "p->", g = "g->", panels = "w.shared->" }
  end
  return { w = "w->", self = "w", kept = "s->", p = "p->", g = "g->", panels = "panels->" }
end

local function rows_of(cpu, at, stream)
  local of = at.w .. rooms.of_stream(cpu.net, stream)
  return of .. "rows", of .. "tokens"
end

-- The width's part in the name of a function that is not for the width of the model.
local function suffix(width)
  return width.text == "WIDTH" and "" or "_" .. width.text:lower():gsub("[^%w]+", "_")
end

-- Where a value of a block lies.
local function place_in_block(cpu, scope, at, value, back)
  if value.external then
    return at.w .. value.name
  elseif value == scope.entry then
    return back and "s->input" or "input"
  elseif value == scope.last then
    return "output"
  end
  return (cpu.buffers.scopes[scope].read[value] and at.kept or at.w) .. value.name
end

-- Values of the network that only a block takes, as its input, lie where the block's first repetition reads; the last
-- result lies in its stream's `output`. mode: "train" or "evaluate".
local function place_in_network(cpu, value, mode)
  if not value.carried then
    return "w." .. value.name
  end
  local block = value.carried.block
  if mode == "train" and block and cpu.buffers.scopes[block].read[block.entry] then
    return ("w.%s[0].input"):format(block.name)
  end
  return "w." .. buffers.home(value.stream)
end

local function placer(cpu, scope, at, mode)
  return function(value)
    if scope == cpu.net then
      return place_in_network(cpu, value, mode)
    end
    return place_in_block(cpu, scope, at, value, mode == "back")
  end
end

-- --- forward -------------------------------------------------------------------------------------------------------

local forward = {}

local function norm_function(cpu, op)
  local form = op.kind == "norm" and "row_norm" or op.sum and "residual_sum_norm" or "residual_norm"
  local rms, drops = op.norm == "rms", op.dropout and op.dropout.name or false
  local name = (rms and "rms_" or "") .. form .. suffix(op.out.width)
  local branch = drops and drops ~= "BRANCH" and "_" .. drops:lower() or ""
  local kernel = op.kind == "norm" and (rms and "rms_norm" or "layer_norm")
    or (rms and "rms_" or "") .. "add_%snorm" .. (op.sum and "_sum" or "")
  local key = name .. branch .. (drops and " dropped" or "")
  if not drops and cpu.rows.names[name] and not cpu.rows.by_key[key] then
    name = name:gsub("residual", "whole_residual") -- beside one whose branch is dropped out
  end
  return function_for(cpu.rows, key, name .. branch, { template = "cpu/rows/" .. op.kind .. ".tpl",
    width = op.out.width.text, offset = not rms, sum = op.sum ~= nil, drops = drops, kernel = kernel:format(""),
    drop_kernel = kernel:format("dropout_") })
end

function forward.product(cpu, at, op, place)
  local finish = op.relu and "FINISH_BIAS_RELU" or op.p.bias and "FINISH_BIAS" or "FINISH_STORE"
  local inner, columns = op.x.width.text, op.out.width.text
  local name = function_for(cpu.products, table.concat({ "to", inner, columns, finish }, " "), "to_" .. op.role,
    { inner = inner, columns = columns, finish = finish, other = op.p.bias and "bias" or false, x = "x", y = "y" })
  return { routine = name, rows = rows_of(cpu, at, op.x.stream), x = place(op.x), panels = at.panels .. op.weight,
    bias = op.p.bias and at.p .. op.weight .. "_bias", out = place(op.out) }
end

local function dropped(cpu, at, op)
  return { rate = op.dropout.name, keep = at.kept .. op.keep, place = op.place, self = at.self,
    site = op.scope ~= cpu.net and op.scope.first_site or false, loops = op.scope.loops, width = op.out.width.text,
    length = cpu.net.streams[2] and at.w .. rooms.of_stream(cpu.net, op.out.stream) .. "length" or false }
end

-- The tokens of a value of the network that is traced, where there are several streams.
local function traced(cpu, value)
  return cpu.net.streams[2] and ("w.%stokens"):format(rooms.of_stream(cpu.net, value.stream)) or false
end

-- What the functions of an embedding are called behind `embed`: after its stream, where there are several.
local function embeds(cpu, op)
  return cpu.net.streams[2] and "_" .. op.stream.name or ""
end

local function norm_record(cpu, at, op, place)
  local _, tokens = rows_of(cpu, at, op.out.stream)
  return { routine = norm_function(cpu, op), self = at.self, tokens = tokens, scale = at.p .. op.p.name .. "_scale",
    offset = op.norm == "layer" and at.p .. op.p.name .. "_offset", xhat = at.kept .. op.name .. "_xhat",
    rstd = at.kept .. op.name .. "_rstd", out = place(op.out) }
end

function forward.norm(cpu, at, op, place)
  local record = norm_record(cpu, at, op, place)
  record.x = place(op.x)
  return record
end

function forward.add_norm(cpu, at, op, place)
  local record = norm_record(cpu, at, op, place)
  record.residual, record.branch = place(op.residual), place(op.branch)
  record.sum = op.sum and place(op.sum) or false
  record.dropout = op.dropout and dropped(cpu, at, op) or false
  return record
end

function forward.add(cpu, at, op, place)
  local _, tokens = rows_of(cpu, at, op.out.stream)
  local drops = op.dropout and op.dropout.name or false
  local name = (drops and drops ~= "BRANCH" and "add_" .. drops:lower() or drops and "add_residual" or "add_rows")
    .. suffix(op.out.width)
  return { routine = function_for(cpu.rows, name, name, { template = "cpu/rows/add.tpl", width = op.out.width.text,
    drops = drops }), self = at.self, tokens = tokens, residual = place(op.residual), branch = place(op.branch),
    out = place(op.out), dropout = op.dropout and dropped(cpu, at, op) or false }
end

local function elementwise(cpu, at, op, place, kernel)
  local rows = rows_of(cpu, at, op.out.stream)
  local key = kernel .. " " .. op.out.width.text
  return { routine = function_for(cpu.rows, key, kernel .. "_" .. op.out.name, { template = "cpu/rows/activation.tpl",
    kernel = kernel, width = op.out.width.text }), rows = rows, x = place(op.x), out = place(op.out) }
end

function forward.activation(cpu, at, op, place)
  return elementwise(cpu, at, op, place, op.activation)
end

local GATES = { silu = "swiglu", gelu = "geglu" }

function forward.gate(cpu, at, op, place)
  return elementwise(cpu, at, op, place, GATES[op.activation])
end

function forward.attention(_, at, op, place)
  return { name = op.family.name, self = at.self, kept = "&" .. at.kept .. op.family.name,
    direction = op.direction and place(op.direction) or false, q = place(op.q),
    kv = op.kv ~= op.q and place(op.kv), out = place(op.out) }
end

function forward.embed(cpu, at, op, place)
  return { routine = "embed" .. embeds(cpu, op), self = at.self, out = place(op.out), traced = traced(cpu, op.out) }
end

-- All repetitions: the input of each where it is kept, else the stream's one buffer.
function forward.block(cpu, at, op, place, mode)
  local block = op.block
  local kept = mode == "train" and cpu.buffers.scopes[block].read[block.entry]
  local first, last = place(op.x), place(op.out)
  local each, home = ("w.%s[l].input"):format(block.name), "w." .. buffers.home(op.out.stream)
  local after = ("w.%s[l + 1].input"):format(block.name)
  local own = not op.x.carried and first -- the input is read by others, too, and stays
  return { self = at.self, name = block.name, uses = block.uses, loops = block.loops, count = block.count_name,
    traced = traced(cpu, op.out), input = kept and each or own and ("l > 0 ? %s : %s"):format(home, own) or home,
    output = (kept or last ~= home) and ("l + 1 < %s ? %s : %s"):format(block.uses, kept and after or home, last)
      or home }
end

function forward.classify(_, at, op, place)
  return { self = at.self, x = place(op.x) }
end

-- --- backward ------------------------------------------------------------------------------------------------------

local back = {}

local function gradient(at, buffer)
  return buffer and at.w .. buffer.name or false
end

function back.norm_grad(cpu, at, b)
  local op = b.op
  local _, tokens = rows_of(cpu, at, op.out.stream)
  local drops = b.dbranch and op.dropout.name or false
  local rms = op.norm == "rms"
  local added = op.kind == "norm" and b.adds
  local form = op.kind == "norm" and "row_norm" or b.adds and "residual_sum_norm" or "residual_norm"
  local name = (rms and "rms_" or "") .. form .. "_grad" .. (added and "_added" or "") .. suffix(op.out.width)
  local branch = drops and drops ~= "BRANCH" and "_" .. drops:lower() or ""
  local key = name .. branch .. (drops and " dropped" or "")
  if op.kind ~= "norm" and not drops and cpu.rows.names[name] and not cpu.rows.by_key[key] then
    name = name:gsub("residual", "whole_residual")
  end
  local kernel = op.kind == "norm" and (rms and "rms_norm_grad" or "layer_norm_grad") .. (added and "_added" or "")
    or ("%sadd_%snorm%s_grad"):format(rms and "rms_" or "", drops and "dropout_" or "", b.adds and "_sum" or "")
  local in_place = op.kind == "add_norm" and not b.adds
  return { routine = function_for(cpu.rows, key, name .. branch, { template = in_place and "cpu/rows/add_norm_grad.tpl"
    or "cpu/rows/norm_grad.tpl", width = op.out.width.text, offset = not rms, drops = drops, kernel = kernel,
    adds = b.adds or false }), tokens = tokens, in_place = in_place, dy = gradient(at, b.dy),
    to = gradient(at, b.to), keep = drops and at.kept .. op.keep, xhat = at.kept .. op.name .. "_xhat",
    rstd = at.kept .. op.name .. "_rstd", scale = at.p .. op.p.name .. "_scale", dbranch = gradient(at, b.dbranch),
    dscale = at.g .. op.p.name .. "_scale", doffset = not rms and at.g .. op.p.name .. "_offset" }
end

function back.dropout_grad(cpu, at, b)
  local op = b.op
  local _, tokens = rows_of(cpu, at, op.out.stream)
  local name = op.dropout.name:lower() .. "_grad" .. suffix(op.out.width)
  return { routine = function_for(cpu.rows, name, name, { template = "cpu/rows/dropout_grad.tpl",
    width = op.out.width.text, drops = op.dropout.name }), tokens = tokens, dy = gradient(at, b.dy),
    keep = at.kept .. op.keep, to = gradient(at, b.to) }
end

function back.weight_grad(cpu, at, b, place)
  local op = b.op
  local _, tokens = rows_of(cpu, at, op.x.stream)
  local inner, columns = op.x.width.text, op.out.width.text
  local name = function_for(cpu.gradients, table.concat({ inner, columns, tostring(op.p.bias) }, " "),
    op.weight .. "_grad", { inner = inner, columns = columns, bias = op.p.bias })
  return { routine = name, tokens = tokens, x = place(b.x), dy = gradient(at, b.dy), dw = at.g .. op.weight,
    db = op.p.bias and at.g .. op.weight .. "_bias" }
end

function back.input_grad(cpu, at, b, place)
  local op = b.op
  local inner, columns = op.out.width.text, op.x.width.text
  local finish = b.relu and "FINISH_RELU_GRAD" or b.adds and "FINISH_ADD" or "FINISH_STORE"
  local other = b.relu and op.x.name or b.adds and "dx" or false
  local name = function_for(cpu.products, table.concat({ "from", inner, columns, finish }, " "), "from_" .. op.role,
    { inner = inner, columns = columns, finish = finish, other = other, x = "dy", y = "dx" })
  return { routine = name, rows = rows_of(cpu, at, op.x.stream), dy = gradient(at, b.dy),
    panels = at.panels .. op.weight .. "_transposed", relu = b.relu and place(b.relu) or false,
    to = gradient(at, b.to) }
end

local function elementwise_grad(cpu, at, b, place, kernel)
  local op = b.op
  local key = kernel .. " grad " .. op.out.width.text
  return { routine = function_for(cpu.rows, key, kernel .. "_" .. op.out.name .. "_grad", {
    template = "cpu/rows/activation_grad.tpl", kernel = kernel, width = op.out.width.text }),
    rows = rows_of(cpu, at, op.out.stream), x = place(b.kind == "relu_grad" and op.out or op.x),
    dy = gradient(at, b.dy), to = gradient(at, b.to) }
end

function back.activation_grad(cpu, at, b, place)
  return elementwise_grad(cpu, at, b, place, b.op.activation)
end

function back.relu_grad(cpu, at, b, place)
  return elementwise_grad(cpu, at, b, place, "relu")
end

function back.gate_grad(cpu, at, b, place)
  return elementwise_grad(cpu, at, b, place, GATES[b.op.activation])
end

function back.attention_grad(_, at, b, place)
  local op = b.op
  return { name = op.family.name, self = at.self, kept = "&" .. at.kept .. op.family.name,
    direction = op.direction and place(op.direction) or false, q = place(op.q),
    kv = op.kv ~= op.q and place(op.kv), attended = place(op.out), dy = gradient(at, b.dy), dq = gradient(at, b.dq),
    dkv = op.kv ~= op.q and gradient(at, b.dkv), ddirection = gradient(at, b.ddirection) }
end

function back.accumulate(cpu, at, b)
  local _, tokens = rows_of(cpu, at, b.to.stream)
  local name = "add_rows" .. suffix(b.to.width)
  return { routine = function_for(cpu.rows, name, name, { template = "cpu/rows/add.tpl", width = b.to.width.text,
    drops = false }), tokens = tokens, from = gradient(at, b.from), to = gradient(at, b.to) }
end

function back.copy(cpu, at, b)
  local _, tokens = rows_of(cpu, at, b.to.stream)
  return { tokens = tokens, width = b.to.width.text, from = gradient(at, b.from), to = gradient(at, b.to) }
end

function back.clear(cpu, at, b)
  local _, tokens = rows_of(cpu, at, b.to.stream)
  return { tokens = tokens, width = b.to.width.text, to = gradient(at, b.to) }
end

function back.classify_grad(_, at, b, place)
  return { self = at.self, x = place(b.op.x), to = gradient(at, b.to) }
end

function back.block_grad(_, at, b)
  local block = b.op.block
  return { self = at.self, name = block.name, uses = block.uses, loops = block.loops, count = block.count_name }
end

function back.embed_grad(cpu, at, b)
  return { routine = ("embed%s_backward"):format(embeds(cpu, b.op)), self = at.self, dy = gradient(at, b.dy) }
end

-- --- the whole -----------------------------------------------------------------------------------------------------

local function forward_records(cpu, scope, mode)
  local at, records = scope_names(cpu, scope), {}
  local place = placer(cpu, scope, at, mode)
  for _, op in ipairs(cpu.lists[scope].forward) do
    if op.kind ~= "classify" or mode ~= "train" then -- in training the way back begins with it
      local record = forward[op.kind](cpu, at, op, place, mode)
      record.kind, record.template = op.kind, OP:format(op.kind)
      records[#records + 1] = record
    end
  end
  return records
end

local function backward_records(cpu, scope)
  local at, records = scope_names(cpu, scope), {}
  local place = placer(cpu, scope, at, scope == cpu.net and "train" or "back")
  for i, b in ipairs(cpu.lists[scope].backward) do
    records[i] = back[b.kind](cpu, at, b, place)
    records[i].kind, records[i].template = b.kind, OP:format(b.kind)
  end
  return records
end

-- The families of attentions that a list of buffers keeps.
local function families_in(list)
  local names = {}
  for _, b in ipairs(list) do
    names[#names + 1] = b.family and b.family.name or nil
  end
  return names
end

-- Evaluation, and behind each place what is traced there: the embedding, attentions, results of blocks.
local function trace_records(cpu)
  local records = {}
  for _, record in ipairs(forward_records(cpu, cpu.net, "evaluate")) do
    records[#records + 1] = record
    if record.kind == "embed" then
      records[#records + 1] = { template = "cpu/op/trace.tpl", self = record.self, x = record.out,
        tokens = record.traced }
    elseif record.kind == "block" then
      record.template = "cpu/op/trace_block.tpl"
      record.families = families_in(cpu.buffers.scopes[cpu.net.scopes[record.name]].kept)
    end
  end
  return records
end

local function has(records, test)
  for _, record in ipairs(records) do
    if test(record) then
      return true
    end
  end
  return false
end

-- Whether a record names something that begins so.
local function names(start)
  return function(record)
    for _, text in pairs(record) do
      if type(text) == "string" and text:sub(1, #start) == start then
        return true
      end
    end
    return false
  end
end

local function block_of(cpu, block, panels)
  local kept, read = cpu.buffers.scopes[block].kept, cpu.buffers.scopes[block].read
  local made, back_made = forward_records(cpu, block, "forward"), backward_records(cpu, block)
  return {
    name = block.name, comment = block.comment, parameters_type = block.parameters_type,
    count = block.count_name, layers = block.count, loops = block.loops, uses = block.uses,
    repetitions = block.count * block.loops,
    members = rooms.lines(cpu.net, kept), rooms = rooms.taken(cpu.net, kept, "s->", "used"), kept = rooms.data(kept),
    own_input = not block.first.carried and read[block.entry] and block.first.name or false,
    panels = #panels > 0,
    drops = has(made, function(r)
      return r.dropout
    end),
    forward = made, backward = back_made,
    uses_parameters = { forward = has(made, names("p->")), backward = has(back_made, names("p->")) },
  }
end

-- The functions that embed a stream each.
local function embeddings(cpu)
  local list = {}
  for _, op in ipairs(cpu.net.ops) do
    if op.kind == "embed" then
      list[#list + 1] = { routine = "embed" .. embeds(cpu, op), stream = op.stream.index,
        of = rooms.of_stream(cpu.net, op.stream), drops = op.dropout and op.dropout.name or false,
        keep = op.keep or false, place = op.place or 0 }
    end
  end
  return list
end

-- What a layer's state calls the queries and the keys of its attention, by family.
local function attended(cpu)
  local by_family = {}
  for _, scope in ipairs(cpu.lists.order) do
    for _, op in ipairs(cpu.lists[scope].forward) do
      if op.kind == "attention" then
        by_family[op.family.name] = { queries = op.q.name, keys = op.kv.name }
      end
    end
  end
  return by_family
end

local function most_places(net)
  local most = net.places
  for _, block in ipairs(net.scopes) do
    most = math.max(most, block.places)
  end
  return most
end

function M.derive(net, lists, structs, room)
  local cpu = { net = net, lists = lists, buffers = room,
    products = functions(), gradients = functions(), rows = functions() }
  local panels_of = {}
  for _, struct in ipairs(structs) do
    panels_of[struct.name] = struct.panels
  end
  local blocks = {}
  for i, block in ipairs(net.scopes) do
    blocks[i] = block_of(cpu, block, panels_of[block.parameters_type])
  end
  local pass = { train = forward_records(cpu, net, "train"), evaluate = forward_records(cpu, net, "evaluate"),
    backward = backward_records(cpu, net), trace = trace_records(cpu) }
  pass.reads = has(pass.train, function(r)
    return r.kind ~= "embed" and r.kind ~= "block"
  end)
  pass.drops = has(pass.train, function(r)
    return r.kind ~= "embed" and r.dropout
  end)
  return { blocks = blocks, pass = pass, products = cpu.products.list, gradients = cpu.gradients.list,
    rows = cpu.rows.list, members = rooms.lines(net, cpu.buffers.workspace),
    rooms = rooms.taken(net, cpu.buffers.workspace, "w->", "&used"), workspace = rooms.data(cpu.buffers.workspace),
    tied = net.classified.op.tied and true or false, places = most_places(net), embeddings = embeddings(cpu),
    attended = attended(cpu), labelled = rooms.of_stream(net, net.classified.op.x.stream) }
end

return M
