-- The network in device code: the same lists as on the CPU, with the names that device code has for everything, for the
-- templates of templates/cuda/op.
--
-- Input: a network (builder.lua), its lists, and what plan/cuda.lua has chosen. Output, pure data:
--   blocks     { name, comment, count, uses, state, members, forward, backward, ... } in order
--   pass       what a block of threads does with its examples: { train, evaluate }
--   rows       functions that go over rows, each compiled once: { template, name, width, ... }
--   always     members of the workspace: { name, type, each, about, limited } (cuda_rooms.lua); training: in training
--   masks      groups of dropout sites: { first, places, layer, below_text }; sites, how many there are
--   phases     of a wide model (launches.lua)
-- A layer reads the output of the one before, which is kept with what that one keeps. Between blocks values lie in the
-- workspace by their names; in evaluation a block that alone takes its input works in place.
-- The kernels of norms, sums and copies go over rows of WIDTH channels.

local buffers = require("network.buffers")
local launches = require("network.launches")
local rooms = require("network.cuda_rooms")

local M = {}

local OP = "cuda/op/%s.tpl"
local GATES = { silu = "swiglu", gelu = "geglu" }

-- What a scope's records need to name things. In a block w is the workspace, s the layer's state; outside of it b is
-- the block of threads.
local function names_of(device, scope)
  if scope == device.net then
    return { w = "b->work.", kept = "b->work.", p = "b->view.p->", g = "b->gradient->", gradients = "b->gradient",
      state = "b->%s.output" }
  end
  return { w = "w->", kept = "s->", p = scope.name .. "_weights()->", g = scope.name .. "_dweights()->",
    gradients = scope.name .. "_dweights()" }
end

-- A block whose input nobody else reads gives its result in the same place in evaluation.
local function in_place(op)
  return op.x.carried and op.x.carried.block == op.block
end

local function place_in_block(device, scope, at, value)
  if value.external then
    return at.w .. value.name
  elseif value == scope.entry then
    return at.input or "block()->input"
  elseif value == scope.last then
    return "s->output"
  end
  return (device.buffers.scopes[scope].read[value] and at.kept or at.w) .. value.name
end

-- What a block gives lies where its last repetition has put it.
local function place_in_network(at, value)
  local block = value.op.kind == "block" and value.op.block
  return block and at.state:format(block.name, block.count_name) or at.w .. value.name
end

local function placer(device, scope, at)
  return function(value)
    if scope == device.net then
      return place_in_network(at, value)
    end
    return place_in_block(device, scope, at, value)
  end
end

-- What there is no device code for: an error { problem = true, what, line } of the description.
local function refuse(op, what, ...)
  error({ problem = true, line = op and op.line, what = what:format(...) }, 0)
end

-- For operations whose kernels have the width of the model compiled in.
local function check_width(op, value)
  if value.width.text ~= "WIDTH" then
    refuse(op, "norms, sums and copies of %d channels, which is not the model's width (%s)", value.width.count,
      value.name)
  end
end

-- The network's attention: its operation, and the block that it is in.
local function attention_of(net, lists)
  local found, within
  for _, scope in ipairs(lists.order) do
    for _, op in ipairs(lists[scope].forward) do
      if op.kind == "attention" then
        if found or scope == net or op.q ~= op.kv then
          refuse(op, "%s", found and "a second attention" or scope == net and "attention outside of a block"
            or "attention to another value than the queries' own")
        end
        found, within = op, scope
      end
    end
  end
  return found or refuse(nil, "a network without attention"), within
end

local function check(net, lists)
  if #net.streams > 1 then
    refuse(nil, "a network of %d streams", #net.streams)
  end
  for _, scope in ipairs(lists.order) do
    for _, op in ipairs(lists[scope].forward) do
      if op.kind == "place" then
        refuse(op, "positions that are added behind the embedding")
      elseif op.kind == "block" and op.block.loops > 1 then
        refuse(op.block, "block %s, which runs %d times over: gradients of its weights are stored, not added",
          op.block.name, op.block.loops)
      end
    end
  end
end

local function gradient(at, buffer)
  return buffer and at.w .. buffer.name or false
end

-- The name of a function of generated code, each once.
local function function_for(device, name, new)
  if not device.known[name] then
    new.name, device.known[name] = name, true
    device.rows[#device.rows + 1] = new
  end
  return name
end

local function suffix(width)
  return width.text == "WIDTH" and "" or "_" .. width.text:lower():gsub("[^%w]+", "_")
end

local function dropped(device, at, op)
  local scope = op.scope
  return { rate = op.dropout.name .. "_KEEP_SCALE",
    mask = scope == device.net and at.w .. "keep" or ("%s_mask(%d)"):format(scope.name, op.place) }
end

-- Attention adds the bias of its directions itself, and takes its gradient.
local function adds_bias(device, op)
  return op.p.bias and not device.directions[op.out]
end

-- --- forward -------------------------------------------------------------------------------------------------------

local forward = {}

function forward.product(device, at, op, place)
  return { columns = op.out.width.text, inner = op.x.width.text, x = place(op.x), weight = at.p .. op.weight,
    bias = adds_bias(device, op) and at.p .. op.weight .. "_bias", rectified = op.relu or false, out = place(op.out) }
end

-- The bias of a product that a library has made, and its rectifier.
function forward.add_bias(_, at, op, place)
  return { columns = op.out.width.text, bias = at.p .. op.weight .. "_bias", rectified = op.relu or false,
    out = place(op.out) }
end

local function norm_record(at, op, place, kernel)
  check_width(op, op.out)
  return { routine = (op.norm == "rms" and "rms_" or "") .. kernel, scale = at.p .. op.p.name .. "_scale",
    offset = op.norm == "layer" and at.p .. op.p.name .. "_offset", xhat = at.kept .. op.name .. "_xhat",
    rstd = at.kept .. op.name .. "_rstd", out = place(op.out) }
end

function forward.norm(_, at, op, place)
  local record = norm_record(at, op, place, op.norm == "rms" and "norm" or "layer_norm")
  record.x = place(op.x)
  return record
end

function forward.add_norm(device, at, op, place)
  local record = norm_record(at, op, place, ("add_%snorm%s"):format(op.dropout and "dropout_" or "",
    op.sum and "_sum" or ""))
  record.residual, record.branch = place(op.residual), place(op.branch)
  record.sum = op.sum and place(op.sum) or false
  record.dropout = op.dropout and dropped(device, at, op) or false
  return record
end

function forward.add(device, at, op, place)
  check_width(op, op.out)
  return { routine = op.dropout and "add_dropout_branch" or "add_branch", residual = place(op.residual),
    branch = place(op.branch), out = place(op.out), dropout = op.dropout and dropped(device, at, op) or false }
end

local function elementwise(device, op, place, kernel)
  return { routine = function_for(device, kernel .. "_rows" .. suffix(op.out.width), {
    template = "cuda/rows/activation.tpl", kernel = kernel, width = op.out.width.text }), x = place(op.x),
    out = place(op.out) }
end

function forward.activation(device, _, op, place)
  return elementwise(device, op, place, op.activation)
end

function forward.gate(device, _, op, place)
  return elementwise(device, op, place, GATES[op.activation])
end

function forward.attention(_, _, op, place)
  return { q = place(op.q) }
end

function forward.embed(device)
  return { drops = device.masks[1] ~= nil }
end

function forward.block(_, _, op)
  return { name = op.block.name }
end

function forward.classify(_, _, op, place)
  return { x = place(op.x) }
end

-- --- backward ------------------------------------------------------------------------------------------------------

local back = {}

function back.norm_grad(device, at, b)
  local op = b.op
  check_width(op, op.out)
  local rms = op.norm == "rms"
  local kernel = op.kind == "norm" and (rms and "rms_norm_grad" or "layer_norm_grad") .. (b.adds and "_added" or "")
    or ("%sadd_%snorm%s_grad"):format(rms and "rms_" or "", b.dbranch and "dropout_" or "", b.adds and "_sum" or "")
  return { routine = kernel, dy = gradient(at, b.dy), to = gradient(at, b.to), dbranch = gradient(at, b.dbranch),
    dropout = b.dbranch and dropped(device, at, op) or false, xhat = at.kept .. op.name .. "_xhat",
    rstd = at.kept .. op.name .. "_rstd", scale = at.p .. op.p.name .. "_scale",
    dscale = at.g .. op.p.name .. "_scale", doffset = not rms and at.g .. op.p.name .. "_offset" }
end

function back.dropout_grad(device, at, b)
  check_width(b.op, b.op.branch)
  return { dy = gradient(at, b.dy), to = gradient(at, b.to), dropout = dropped(device, at, b.op) }
end

function back.weight_grad(device, at, b, place)
  local op = b.op
  return { inner = op.x.width.text, columns = op.out.width.text, x = place(b.x), dy = gradient(at, b.dy),
    dweight = at.g .. op.weight, dbias = adds_bias(device, op) and at.g .. op.weight .. "_bias" }
end

back.bias_grad = back.weight_grad

function back.input_grad(_, at, b, place)
  local op = b.op
  return { inner = op.x.width.text, columns = op.out.width.text, dy = gradient(at, b.dy), weight = at.p .. op.weight,
    adds = b.adds, rectified = b.relu and place(b.relu) or false, to = gradient(at, b.to) }
end

-- Behind an input gradient that a library has made.
function back.rectify_grad(_, at, b, place)
  return { columns = b.op.x.width.text, x = place(b.relu), to = gradient(at, b.to) }
end

local function elementwise_grad(device, at, b, place, kernel)
  local op = b.op
  return { routine = function_for(device, kernel .. "_rows_grad" .. suffix(op.out.width), {
    template = "cuda/rows/activation_grad.tpl", kernel = kernel, width = op.out.width.text }),
    x = place(b.kind == "relu_grad" and op.out or op.x), dy = gradient(at, b.dy), to = gradient(at, b.to) }
end

function back.activation_grad(device, at, b, place)
  return elementwise_grad(device, at, b, place, b.op.activation)
end

function back.relu_grad(device, at, b, place)
  return elementwise_grad(device, at, b, place, "relu")
end

function back.gate_grad(device, at, b, place)
  return elementwise_grad(device, at, b, place, GATES[b.op.activation])
end

function back.attention_grad(_, at, b)
  return { dq = gradient(at, b.dq), gradients = at.gradients }
end

local function of_rows(_, at, b)
  check_width(b, b.to)
  return { from = gradient(at, b.from), to = gradient(at, b.to) }
end

back.accumulate, back.copy, back.clear = of_rows, of_rows, of_rows

function back.classify_grad(_, at, b, place)
  return { x = place(b.op.x), gradients = at.gradients }
end

function back.block_grad(_, _, b)
  return { name = b.op.block.name }
end

function back.embed_grad(_, at)
  return { gradients = at.gradients }
end

-- --- the whole -----------------------------------------------------------------------------------------------------

local function record_of(device, scope, mode, at, op)
  local place = placer(device, scope, at)
  local record = (op.of_backward and back or forward)[op.kind](device, at, op.one, place)
  record.kind, record.template, record.training = op.kind, OP:format(op.kind), mode == "train"
  return record
end

-- A list as launches.lua takes it: { kind, one, of_backward }; `one` is an operation, or an entry of a backward list.
local function entries(list, of_backward, into)
  for _, one in ipairs(list) do
    into[#into + 1] = { kind = one.kind, one = one, of_backward = of_backward }
  end
  return into
end

local function records(device, scope, mode, list)
  local at, made = names_of(device, scope), {}
  for i, op in ipairs(list) do
    made[i] = record_of(device, scope, mode, at, op)
  end
  return made
end

local function has_dropout(list)
  for _, record in ipairs(list) do
    if record.dropout then
      return true
    end
  end
  return false
end

-- What a place's rate is called; of several rates, asked for by place.
local function below_text(below)
  local text = below[#below]
  for i = #below - 1, 1, -1 do
    text = below[i] == text and text or ("place == %d ? %s : %s"):format(i - 1, below[i], text)
  end
  return text
end

-- Sites of the network itself, then those of each block, repetition behind repetition.
local function derive_masks(device, scopes)
  local sites = 0
  for _, scope in ipairs(scopes) do
    local below = {}
    for _, op in ipairs(device.lists[scope].forward) do
      if op.dropout then
        below[op.place + 1] = op.dropout.name .. "_DROP_BELOW"
      end
    end
    if scope.places > 0 then
      device.masks[#device.masks + 1] = { first = sites, places = scope.places, layer = scope.first_site or 0,
        below_text = below_text(below), scope = scope.name }
      sites = sites + scope.places * (scope.count or 1)
    end
    device.most_places = math.max(device.most_places, scope.places)
  end
  return sites
end

local function first_mask(device, scope)
  for _, mask in ipairs(device.masks) do
    if mask.scope == scope.name then
      return mask
    end
  end
  return false
end

-- Names in the host's list of launches: x, a layer's input.
local IN_LIST = { w = "w->", kept = "s->", p = "p->", g = "g->", input = "x" }
local IN_NETWORK = { w = "w.", kept = "w.", p = "p->", g = "g->", state = "%s[%s - 1].output" }

local function reads_input(host)
  for _, launch in ipairs(host) do
    if launch.x == IN_LIST.input then
      return true
    end
  end
  return false
end

-- The cut list of a scope as what the host lists, and the phases with their operations. layer: of the next phase.
local function launched(device, scope, mode, list)
  local at, host, phases, layer = scope == device.net and IN_NETWORK or IN_LIST, {}, {}, scope.entry and "l" or "0"
  for i, launch in ipairs(launches.cut(list, scope.entry and scope.name, device.adds_bias)) do
    if launch.phase then
      phases[#phases + 1] = { name = launch.phase, ops = records(device, scope, mode, launch.ops) }
      host[i] = { template = "cuda/launch/phase.tpl", phase = launch.phase, layer = layer }
    elseif launch.block then
      local forward_pass = launch.entry.kind == "block"
      layer = forward_pass and launch.block.count_name .. " - 1" or "0"
      local block = device.made[launch.block]
      host[i] = { template = ("cuda/launch/%s.tpl"):format(launch.entry.kind), block = true, name = block.name,
        count = block.count, first = block.of_host, reads = block[forward_pass and "forward" or "backward"].reads }
    else
      host[i] = record_of(device, scope, mode, at, launch.entry)
      host[i].template = ("cuda/launch/%s.tpl"):format(launch.product)
    end
  end
  return { list = host, phases = phases, reads = reads_input(host) }
end

local function block_of(device, block, op)
  local lists = device.lists[block]
  local at = names_of(device, device.net)
  local one = { name = block.name, comment = block.comment, count = block.count_name, state = block.name .. "_state",
    parameters_type = block.parameters_type, gradients_type = block.gradients_type,
    members = rooms.kept(device, block), mask = first_mask(device, block), in_place = in_place(op),
    first = place_in_network(at, op.x) }
  one.lines = rooms.lines(one.members)
  local all_forward, all_backward = entries(lists.forward, false, {}), entries(lists.backward, true, {})
  one.forward = records(device, block, "train", all_forward)
  one.drops = has_dropout(one.forward)
  if device.wide then
    one.of_host = place_in_network(IN_NETWORK, op.x)
    one.forward = launched(device, block, "train", all_forward)
    one.backward = launched(device, block, "train", all_backward)
  else
    one.backward = records(device, block, "train", all_backward)
  end
  return one
end

-- How many launches a step is: so many, and so many for each layer of a block.
local function most_launches(blocks, train)
  local words, fixed = {}, 2 -- the step's begin and end
  for _, launch in ipairs(train.list) do
    fixed = fixed + (launch.block and 0 or 1)
  end
  for i, block in ipairs(blocks) do
    words[i] = ("%d * %s"):format(#block.forward.list + #block.backward.list, block.count)
  end
  return ("%d + %s"):format(fixed, table.concat(words, " + "))
end

-- The names of all phases, each once: those of the network, then block by block.
local function phase_names(pass, blocks)
  local lists, names, known = { pass.train, pass.evaluate }, {}, {}
  for _, block in ipairs(blocks) do
    lists[#lists + 1], lists[#lists + 2] = block.forward, block.backward
  end
  for _, list in ipairs(lists) do
    for _, phase in ipairs(list.phases) do
      if not known[phase.name] then
        known[phase.name] = true
        names[#names + 1] = phase.name
      end
    end
  end
  return names
end

local function derive_blocks(device)
  local blocks = {}
  for _, op in ipairs(device.lists[device.net].forward) do
    if op.kind == "block" then
      device.made[op.block] = block_of(device, op.block, op)
      blocks[#blocks + 1] = device.made[op.block]
    end
  end
  return blocks
end

local function find(list, kind)
  for _, one in ipairs(list) do
    if one.kind == kind then
      return one
    end
  end
end

local function has_rms(lists)
  for _, scope in ipairs(lists.order) do
    for _, op in ipairs(lists[scope].forward) do
      if op.norm == "rms" then
        return true
      end
    end
  end
  return false
end

-- What the templates of attention call things.
local function attends(op, block, backward, wide)
  local b = find(backward, "attention_grad")
  return { block = block.name, state = block.name .. "_state", parameters_type = block.parameters_type,
    gradients_type = wide and block.gradients_type or block.parameters_type, prefix = op.family.prefix, q = op.q.name,
    out = op.out.name, dq = b.dq.name, dout = b.dy.name, direction = op.direction and op.direction.name or false,
    ddirection = op.direction and b.ddirection.name or false }
end

-- given: wide, evaluates (dropout stays on in evaluation), and what cuda_rooms.lua asks.
function M.derive(net, lists, given)
  local device = { net = net, lists = lists, given = given, wide = given.wide, rows = {}, known = {}, masks = {},
    made = {}, directions = {}, most_places = 0, buffers = buffers.derive(net, lists, given.evaluates) }
  check(net, lists)
  local attention, within = attention_of(net, lists)
  if attention.direction then
    device.directions[attention.direction] = true
  end
  device.adds_bias = function(op)
    return adds_bias(device, op)
  end
  local sites = derive_masks(device, lists.order)
  local blocks, of_net = derive_blocks(device), lists[net]
  local train = entries(of_net.backward, true, entries(of_net.forward, false, {}))
  local evaluate = entries(of_net.forward, false, {})
  local made_of = given.wide and launched or records
  local pass = { train = made_of(device, net, "train", train), evaluate = made_of(device, net, "evaluate", evaluate) }
  local always, training = rooms.workspace(device)
  return { blocks = blocks, pass = pass, rows = device.rows, always = always, training = training,
    lines = { always = rooms.lines(always), training = rooms.lines(training) },
    attends = attends(attention, within, lists[within].backward, given.wide), sites = sites, masks = device.masks,
    places = device.most_places, rms = has_rms(lists),
    embedding = { value = find(of_net.forward, "embed").out.name,
      gradient = find(of_net.backward, "embed_grad").dy.name },
    readout_gradient = find(of_net.backward, "classify_grad").to.name,
    phases = given.wide and phase_names(pass, blocks) or false,
    most_launches = given.wide and most_launches(blocks, pass.train) or false }
end

return M
