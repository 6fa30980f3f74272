-- Records of operations on the CPU: by role, the text of a call's arguments (calls.lua), or a template of
-- templates/cpu/op.
--
-- Input: the state of cpu_network.lua (net, lists, buffers; products, gradients and rows, the functions found so far),
-- a scope of the network; for the network's forward list, the mode "train" or "evaluate". Output: records of the
-- forward list, of the backward list, or of decoding.

local attention = require("network.graph.attention")
local buffers = require("network.lists.buffers")
local calls = require("network.targets.calls")
local decoding = require("network.lists.decoding")
local embeddings = require("network.targets.embeddings")
local names = require("network.targets.cpu_names")
local rows = require("network.targets.cpu_rows")
local cpu_buffers = require("network.targets.cpu_buffers")

local M = {}

local find_function, make_suffix = calls.find_function, calls.make_suffix

-- Functions that make the records of a forward operation, by kind; at: the operation's names (cpu_names.lua).
local forward = { classify = function() return { call = "classify(self, x, 'sums')" } end }

-- The name of the function of a norm in a form; drops: the name of the dropout rate in the norm, or false; new: the
-- function's other fields, if it is new.
local function find_norm_function(cpu, op, form, drops, new)
  local rate = drops and drops ~= "BRANCH" and "_" .. drops:lower() or ""
  local name = (op.norm == "rms" and "rms_" or "") .. form .. make_suffix(op.out.width) .. rate
  new.width, new.offset, new.drops = op.out.width.text, op.norm ~= "rms", drops
  return find_function(cpu.rows, name .. (drops and " dropped" or ""), name, new)
end

local function find_norm(cpu, op)
  local rms = op.norm == "rms"
  local kernel = op.kind == "norm" and (rms and "rms_norm" or "layer_norm")
    or (rms and "rms_" or "") .. "add_%snorm" .. (op.sum and "_sum" or "")
  local form = op.kind == "norm" and "row_norm" or op.sum and "residual_sum_norm" or "residual_norm"
  return find_norm_function(cpu, op, form, op.dropout and op.dropout.name or false, {
    template = "cpu/rows/" .. op.kind .. ".tpl", sum = op.sum ~= nil, kernel = kernel:format(""),
    drop_kernel = kernel:format("dropout_") })
end

-- The layer number for the random-number counter of a layer's masks.
local function write_site(scope)
  return ("(uint32_t)%s + %d"):format(scope.index, scope.first_site)
end

-- The record that samples an operation's masks.
local function make_draw(cpu, at, op)
  return { kind = "draw", call = "draw_masks(self, part, site, place, below, length, width, keep)",
    asked = not cpu.eval_dropout and "train", part = at.partly and at.part or at.all,
    site = op.scope ~= cpu.net and write_site(op.scope) or "0", place = op.place,
    below = op.dropout.name .. "_DROP_BELOW",
    length = cpu.net.streams[2] and at.w .. cpu_buffers.get_prefix(cpu.net, op.out.stream) .. "length" or false,
    width = op.out.width.text, keep = at.kept .. op.keep }
end

local function make_drop(at, op, x, elements)
  return { kind = "drop", call = "dropout_apply(elements, keep, factor, x)", elements = elements,
    keep = at.kept .. op.keep, factor = op.dropout.name .. "_KEEP_SCALE", x = x }
end

-- The records of an operation with dropout of its result in place: the operation's record, one that samples the mask,
-- and one that applies it. elements: how many, by default those of all tokens.
local function drop_in_place(cpu, at, op, record, elements)
  if not op.dropout then
    return record
  end
  local drop = make_drop(at, op, at.out, elements or at.tokens .. " * " .. op.out.width.text)
  drop.asked = not cpu.eval_dropout and "train"
  return record, make_draw(cpu, at, op), drop
end

function forward.product(cpu, at, op)
  local finish = op.relu and "FINISH_BIAS_RELU" or op.p.bias and "FINISH_BIAS" or "FINISH_STORE"
  local inner, columns = op.x.width.text, op.out.width.text
  local name = find_function(cpu.products, table.concat({ "to", inner, columns, finish }, " "), "to_" .. op.role,
    { inner = inner, columns = columns, finish = finish, other = op.p.bias and "bias" or false, x = "x", y = "y" })
  return drop_in_place(cpu, at, op, { call = "routine(rows, x, panels, bias, out)", routine = name,
    panels = at.panels .. op.weight, bias = op.p.bias and at.p .. op.weight .. "_bias" })
end

-- The number of tokens of a traced value of the network, as text, if there are several streams, else false.
local function get_traced(cpu, value)
  return cpu.net.streams[2] and ("w.%stokens"):format(cpu_buffers.get_prefix(cpu.net, value.stream)) or false
end

function forward.norm(cpu, at, op)
  local record = calls.make_norm(at, op, find_norm(cpu, op), "routine(tokens, x, scale, offset, xhat, rstd, out)")
  record.offset = op.norm == "layer" and at.p .. op.p.name .. "_offset"
  return record
end

-- The records of a sum; with dropout, the record that samples its masks comes first.
local function make_sum(cpu, at, op, record)
  local form = cpu.eval_dropout and "%s" or "train ? %s : NULL"
  record.residual, record.branch, record.mask = at.residual, at.branch,
    op.dropout and form:format(at.kept .. op.keep) or false
  return op.dropout and make_draw(cpu, at, op) or record, op.dropout and record
end

function forward.add_norm(cpu, at, op)
  local record = forward.norm(cpu, at, op)
  record.call = "routine(tokens, residual, branch, mask, scale, offset, sum, xhat, rstd, out)"
  return make_sum(cpu, at, op, record)
end

local function make_adding(cpu, width, drops, call)
  local name = (drops and drops ~= "BRANCH" and "add_" .. drops:lower() or drops and "add_residual" or "add_rows")
    .. make_suffix(width)
  return { call = call, routine = find_function(cpu.rows, name, name, { template = "cpu/rows/add.tpl",
    width = width.text, drops = drops }) }
end

function forward.add(cpu, at, op)
  return make_sum(cpu, at, op, make_adding(cpu, op.out.width, op.dropout and op.dropout.name or false,
    "routine(tokens, residual, branch, mask, out)"))
end

-- The name of the function that applies a kernel, or its gradient, to rows; ending: "" or "_grad".
local function find_kernel_function(cpu, op, kernel, ending)
  return find_function(cpu.rows, table.concat({ kernel, ending, op.out.width.text }, " "), kernel .. "_" .. op.out.name
    .. ending, { template = ("cpu/rows/activation%s.tpl"):format(ending), kernel = kernel, width = op.out.width.text })
end

-- The record of an attention, forward or backward. part: the queries to compute, if a repetition leaves some out.
local function make_attention(cpu, at, op, routine)
  return { routine = routine:format(op.family.name), part = cpu.part and cpu.part.partial[op] and at.part or false,
    kept = "&" .. at.kept .. op.family.name, kv = op.kv ~= op.q and at.kv }
end

function forward.attention(cpu, at, op)
  local record = make_attention(cpu, at, op, "attention_%s")
  record.call = "routine(self, 'l', part, site, kept, q, kv, contribution, cache, tiles, sums, out)"
  record.site = op.dropout and write_site(op.scope) or false
  record.cache, record.tiles = op.family.ranged and op.kv == op.q and "NULL", op.family.tiles and "NULL"
  record.sums = op.family.ranged and op.family.score.running and "NULL"
  return record
end

function forward.embed(cpu, _, op)
  return { call = "routine(self, out)", routine = embeddings.name_routine(cpu.net, op),
    traced = get_traced(cpu, op.out) }
end

-- The sampled positions of a stream's tokens, or false. prefix: the stream's prefix in the workspace.
local function find_positions(at, op, prefix)
  local draw = op.encoding.draw
  if not draw then
    return false
  elseif draw.kind == "sequence" then
    return at.w .. prefix .. "position"
  end
  return draw.apart and ("%sshared->input_position[%d]"):format(at.w, op.out.stream.index)
    or ("%sshared->%sposition[%s]"):format(at.w, (attention.find_placing_family(op.scope) or draw).prefix,
    draw.layer_index)
end

local function count_elements(at, prefix)
  return ("%s%stokens * WIDTH"):format(at.w, prefix)
end

-- The record that adds vectors of positions, or that computes their gradient, and the number of elements as text.
-- vectors: the learned parameter, in the backward pass its gradient; false if the vectors are not learned.
local function make_place(cpu, at, op, form, vectors, call)
  local prefix = cpu_buffers.get_prefix(cpu.net, op.out.stream)
  local name = form .. (prefix ~= "" and "_" .. op.out.stream.name or "")
  return { call = call, routine = find_function(cpu.rows, name, name, { of = prefix,
    template = ("cpu/rows/%s.tpl"):format(form), encoding = op.encoding }),
    positions = find_positions(at, op, prefix), vectors = vectors }, count_elements(at, prefix)
end

function forward.place(cpu, at, op)
  local record, elements = make_place(cpu, at, op, "place", op.p and at.p .. op.p.name or false,
    "routine(self, positions, x, vectors, out)")
  return drop_in_place(cpu, at, op, record, elements)
end

-- The record of all repetitions of a block. In training, a repetition has its own buffer for its input if the backward
-- pass reads the input; otherwise it reads the stream's one buffer of outputs.
function forward.block(cpu, at, op, mode)
  local block = op.block
  local kept = mode == "train" and cpu.buffers.scopes[block].read[block.entry]
  local kept_input, next_input = ("w.%s[l].input"):format(block.name), ("w.%s[l + 1].input"):format(block.name)
  local stream_output = "w." .. buffers.name_for_stream("output", op.out)
  local first_input = not op.x.carried and at.x -- other operations read the input as well
  return { call = "routine(self, 'l', cache, input, output)", name = block.name, uses = block.uses, loops = block.loops,
    count = block.count_name, template = "cpu/op/block.tpl", routine = block.name .. "_forward", cache = false,
    traced = get_traced(cpu, op.out),
    input = kept and kept_input or first_input and ("l > 0 ? %s : %s"):format(stream_output, first_input)
      or stream_output,
    output = (kept or at.out ~= stream_output) and ("l + 1 < %s ? %s : %s"):format(block.uses,
      kept and next_input or stream_output, at.out) or stream_output }
end

-- Functions that make the records of a backward list's entry `b`, by kind.
local back = {
  accumulate = function(cpu, _, b) return make_adding(cpu, b.to.width, false, "routine(tokens, to, from, to)") end,
  copy = function(_, at, b) return { tokens = at.tokens, width = b.to.width.text, from = at.from, to = at.to } end,
  classify_grad = function() return { call = "loss_and_gradient(self, x, to, 'g', 'sums')" } end,
}
back.clear = back.copy

function back.norm_grad(cpu, at, b)
  local op, drops = b.op, b.dbranch and b.op.dropout.name or false
  local alone, added = op.kind == "norm", op.kind == "norm" and b.adds and "_added" or ""
  local form = alone and "row_norm" or b.adds and "residual_sum_norm" or "residual_norm"
  local in_place = not alone and not b.adds
  local record = calls.make_norm(at, op, find_norm_function(cpu, op, form .. "_grad" .. added, drops, {
    kernel = calls.name_norm_grad(b), adds = b.adds or false,
    template = in_place and "cpu/rows/add_norm_grad.tpl" or "cpu/rows/norm_grad.tpl" }),
    "routine(tokens, dy, keep, xhat, rstd, scale, to, dbranch, dscale, doffset)")
  record.dy, record.keep = not in_place and at.dy, drops and at.kept .. op.keep
  record.dscale, record.doffset = at.g .. op.p.name .. "_scale", op.norm == "layer" and at.g .. op.p.name .. "_offset"
  return record
end

function back.dropout_grad(cpu, at, b)
  local op = b.op
  local name = op.dropout.name:lower() .. "_grad" .. make_suffix(op.out.width)
  return { call = "routine(tokens, dy, keep, to)", routine = find_function(cpu.rows, name, name, {
    template = "cpu/rows/dropout_grad.tpl", width = op.out.width.text, drops = op.dropout.name,
    branch = op.branch ~= nil }), keep = at.kept .. op.keep }
end

function back.weight_grad(cpu, at, b)
  local op = b.op
  local inner, columns = op.x.width.text, op.out.width.text
  local name = find_function(cpu.gradients, table.concat({ inner, columns, tostring(op.p.bias) }, " "),
    op.weight .. "_grad", { inner = inner, columns = columns, bias = op.p.bias })
  return { call = "routine(tokens, x, dy, dw, db)", routine = name, dw = at.g .. op.weight,
    db = op.p.bias and at.g .. op.weight .. "_bias" }
end

function back.input_grad(cpu, at, b)
  local op = b.op
  local inner, columns = op.out.width.text, op.x.width.text
  local finish = b.relu and "FINISH_RELU_GRAD" or b.adds and "FINISH_ADD" or "FINISH_STORE"
  local other = b.relu and op.x.name or b.adds and "dx" or false
  local name = find_function(cpu.products, table.concat({ "from", inner, columns, finish }, " "), "from_" .. op.role,
    { inner = inner, columns = columns, finish = finish, other = other, x = "dy", y = "dx" })
  return { call = "routine(rows, dy, panels, relu, to)", routine = name,
    panels = at.panels .. op.weight .. "_transposed", relu = b.relu and at.x or false }
end

calls.add_row_records(forward, back, find_kernel_function, drop_in_place)

function back.attention_grad(cpu, at, b)
  local record = make_attention(cpu, at, b.op, "attention_%s_backward")
  record.call = "routine(self, 'l', part, kept, q, kv, contribution, out, dy, dq, dkv, dcontribution)"
  record.dkv = record.kv and at.dkv
  return record
end

function back.place_grad(cpu, at, b)
  local op = b.op
  local learned = op.p ~= nil and not op.p.frozen
  local elements = count_elements(at, cpu_buffers.get_prefix(cpu.net, op.out.stream))
  return op.dropout and make_drop(at, op, at.dy, elements) or false,
    learned and (make_place(cpu, at, op, "place_grad", at.g .. op.p.name, "routine(self, positions, dy, vectors)"))
end

function back.block_grad(_, _, b)
  local block = b.op.block
  local layer = block.loops > 1 and "l % " .. block.count_name or "l"
  return { call = "routine(self, 'l', gradient)", template = "cpu/op/block_grad.tpl",
    routine = block.name .. "_backward", uses = block.uses, gradient = ("&g->%s[%s]"):format(block.name, layer) }
end

function back.embed_grad(cpu, at, b)
  local of_vocabulary = cpu.vocabulary and cpu.vocabulary.embed == b.op
  return { call = "routine(self, dy, 'g')",
    routine = embeddings.name_routine(cpu.net, b.op) .. (of_vocabulary and "_vocabulary" or "") .. "_backward",
    self = not of_vocabulary and at.self }
end

-- Makes a function that appends the records of an entry: maker(by_kind, entry), by_kind: `forward` or `back`.
local function make_maker(cpu, scope, at, place, records, mode)
  local naming = rows.make_naming(cpu, scope, at, place, records, mode)
  return function(by_kind, entry)
    local names_of, place_of = naming(entry)
    local here = names.make_entry_names(cpu, names_of, entry, place_of)
    calls.append("cpu", records, entry.kind, here, by_kind[entry.kind](cpu, here, entry, mode))
  end
end

-- mode: "train" or "evaluate" for the network; "forward" for a block, whose function has a variable for the mode.
function M.list_forward(cpu, scope, mode)
  local at, records = names.make_scope_names(cpu, scope), {}
  local place = names.make_placer(cpu, scope, at, mode)
  local maker = make_maker(cpu, scope, at, place, records, mode)
  for _, op in ipairs(cpu.lists[scope].forward) do
    if op.kind ~= "classify" or mode ~= "train" then -- in training the backward pass begins with classify
      maker(forward, op)
      rows.append_after(cpu, at, records, place, op)
    end
  end
  return records
end

local DROPS = { draw = true, drop = true }

-- Records of decoding, for a block of the decoded stream or for the network: the part that runs with every token, or
-- (ahead) before all tokens; no dropout. Caches hold rows of earlier tokens, and cross-attention's keys and values.
function M.list_decoding(cpu, scope, stream, ahead)
  local at, records, cached = names.make_scope_names(cpu, scope), {}, {}
  local place = names.make_placer(cpu, scope, at, "evaluate")
  for _, op in ipairs(decoding.list_attentions(scope, stream)) do
    cached[op.kv] = op.kv ~= op.q and "cache->" .. op.family.name or nil
  end
  for _, op in ipairs(decoding.list_part(cpu.lists[scope].forward, stream, ahead)) do
    local here = names.make_entry_names(cpu, at, op, function(value) return cached[value] or place(value) end)
    for _, record in ipairs({ forward[op.kind](cpu, here, op, "evaluate") }) do
      if record and not DROPS[record.kind] then
        record.mask = record.mask and "NULL"
        record.cache = record.cache and "cache->" .. op.family.name
        record.tiles = record.tiles and ("cache->%s_tiles"):format(op.family.name)
        record.sums = record.sums and ("cache->%s_sums"):format(op.family.name)
        record.part = record.part and at.all
        record.call = op.kind == "classify" and "read_out(self, x)" or record.call
        calls.append("cpu", records, op.kind, here, record)
      end
    end
  end
  return records
end

function M.list_backward(cpu, scope)
  local at, records = names.make_scope_names(cpu, scope), {}
  local mode = scope == cpu.net and "train" or "back"
  local maker = make_maker(cpu, scope, at, names.make_placer(cpu, scope, at, mode), records, mode)
  for _, b in ipairs(cpu.lists[scope].backward) do
    rows.append_before(cpu, at, records, b)
    maker(back, b)
  end
  rows.append_before(cpu, at, records, scope)
  return records
end

return M
