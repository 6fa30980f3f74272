-- Records of operations in device code: a record has the texts of a call's arguments by role (calls.lua), or is printed
-- by a template of templates/cuda/op.
--
-- Input: the state of cuda_network.lua (device), a scope (builder.lua), an entry of a list. Output: records, or false
-- in place of a record. In the texts of a block of the network, w is the workspace and s the layer's state; in other
-- texts, b is the thread block. The kernels of norms, sums and copies work on rows of WIDTH channels.

local calls = require("network.targets.calls")
local embeddings = require("network.targets.embeddings")
local lists = require("base.lists")
local names = require("network.targets.cuda_names")
local warp_products = require("network.targets.warp_products")

local M = {}

-- The names for the records of a scope: w, kept, p and g, prefixes of the members of the workspace, the state, the
-- parameters and the gradients; gradients, the gradients as an argument; state, a format for a block's results; one,
-- the ending of functions. decodes: records process one token of each sequence, by functions NAME_one.
function M.make_names(device, scope, decodes)
  local ending = decodes and "_one" or ""
  if scope == device.net then
    return { w = "b->work.", kept = "b->work.", p = "b->view.p->", g = "b->gradient->", gradients = "b->gradient",
      state = "b->%s.output", decodes = decodes, one = ending }
  end
  return { w = "w->", kept = "s->", p = scope.name .. "_weights()->", g = scope.name .. "_dweights()->",
    gradients = scope.name .. "_dweights()", decodes = decodes, one = ending }
end

-- The place of a block's value, as text in C.
local function place_in_block(device, scope, at, value)
  if value.external then
    local op = value.external.op
    if op.kind == "block" and at.input then -- the host's list has no names for other blocks' layers
      M.refuse(value.op or op, "a product of what block %s gives, in a wide model's block %s", op.block.name,
        scope.name)
    end
    return op.kind == "block" and ("block()->%s.output"):format(op.block.name) or at.w .. value.name
  elseif value == scope.entry then
    return at.input or "block()->input"
  elseif value == scope.last then
    return "s->output"
  end
  return (device.buffers.scopes[scope].read[value] and at.kept or at.w) .. value.name
end

-- The place of a value of the network, as text in C. A block's output is in the state of its last repetition.
function M.place_in_network(at, value)
  local block = value.op.kind == "block" and value.op.block
  return block and at.state:format(block.name, block.uses) or at.w .. value.name
end

-- Refuses an operation without device code: an error { problem = true, what, line } of the description.
function M.refuse(op, what, ...)
  error({ problem = true, line = op and op.line, what = what:format(...) }, 0)
end

-- Refuses a width other than the model's for operations whose kernels have the model's width compiled in.
local function check_width(op, value)
  if value.width.text ~= "WIDTH" then
    M.refuse(op, "norms, sums and copies of %d channels, which is not the model's width (%s)", value.width.count,
      value.name)
  end
end

local NO_BIAS, NO_ROWS, NO_MASK = "NULL", "NULL", "NULL"

-- The name of a function of generated code. The first call with a name adds the function with these fields.
local function find_function(device, name, fields)
  return calls.find_function(device.rows, name, name, fields)
end

-- A dropout as { mask, rate, when }: the mask and the factor of values that are not dropped, as texts; when: "always"
-- or "never" applied, or "training" if the function's argument decides, which only functions of blocks have.
local function describe_dropout(device, op, training)
  local scope = op.scope
  local is_outside = scope == device.net
  local is_on, bits = device.given.evaluates or is_outside and training, device.operation_bits[op]
  local index = is_outside and "0" or "block()->" .. scope.index
  return { rate = op.dropout.name .. "_KEEP_SCALE",
    mask = bits and ("select_bits(block()->work.%s, %s, %s_bytes(block()->view.T))"):format(bits.name, index, bits.name)
      or ("%s(%d)"):format(is_outside and "find_mask" or scope.name .. "_mask", device.mask_numbers[op]),
    when = is_on and "always" or is_outside and "never" or "training" }
end

-- The mask that a function receives, and the factor of values that are not dropped, as texts; both false without
-- dropout.
local function name_mask(device, op, training)
  local drop = op.dropout and describe_dropout(device, op, training)
  if not drop then
    return false, false
  end
  local formats = { always = "%s", training = "training ? %s : " .. NO_MASK, never = NO_MASK }
  return formats[drop.when]:format(drop.mask), drop.rate
end

-- Whether a product adds its bias itself. The bias of a contribution (ops.lua) is added by the attention that reads it.
function M.adds_bias(device, op)
  return op.p.bias and not device.contributions[op.out]
end

-- Functions that make the records of a forward operation, by kind; at: the operation's names (M.make_records).
local forward = {
  chain = warp_products.make_chain,
  block = function(device, at, op, training)
    return training and lists.merge(device.made[op.block], { template = "cuda/op/block_forward.tpl" })
      or { call = "routine()", routine = ("%s_%ss"):format(at.decodes and "decode" or "evaluate", op.block.name) }
  end,
  classify = function(_, at, _, training)
    return { call = at.decodes and "make_logits_one(x, rows)", x = at.x, training = training }
  end,
}

function forward.product(device, at, op, training)
  if device.given.chains then
    return warp_products.make_product(device, at, op, training)
  end
  return { call = "product_forward(rows, columns, inner, x, weight, bias, rectified, out)", columns = op.out.width.text,
    inner = op.x.width.text, x = at.x, weight = at.p .. op.weight, rectified = tostring(op.relu or false), out = at.out,
    bias = M.adds_bias(device, op) and at.p .. op.weight .. "_bias" or NO_BIAS }
end

-- The record that adds the bias and applies the rectifier to a product that a library has computed.
function forward.add_bias(_, at, op)
  return { call = "add_bias(rows, columns, bias, rectified, out)", columns = op.out.width.text,
    bias = at.p .. op.weight .. "_bias", rectified = tostring(op.relu or false) }
end

-- The record of a norm; refuses widths that the kernels do not have.
local function make_norm(at, op, routine, call)
  check_width(op, op.out)
  return calls.make_norm(at, op, routine, call)
end

function forward.norm(_, at, op, _, kernel)
  local rms = op.norm == "rms"
  local record = make_norm(at, op, (rms and "rms_" or "") .. (kernel or rms and "norm" or "layer_norm"),
    "routine(rows, x, scale, offset, xhat, rstd, out)")
  record.offset = not rms and at.p .. op.p.name .. "_offset"
  return record
end

function forward.add_norm(device, at, op, training)
  local record = forward.norm(device, at, op, training, ("add_%snorm%s"):format(op.dropout and "dropout_" or "",
    op.sum and "_sum" or ""))
  record.call = "routine(rows, residual, branch, mask, rate, scale, offset, sum, xhat, rstd, out)"
  record.mask, record.rate = name_mask(device, op, training)
  return record
end

function forward.add(device, _, op, training)
  check_width(op, op.out)
  local mask, rate = name_mask(device, op, training)
  return { call = "routine(rows, residual, branch, mask, rate, out)",
    routine = op.dropout and "add_dropout_branch" or "add_branch", mask = mask, rate = rate }
end

-- The name of the function that applies a kernel, or its gradient, to rows; ending: "" or "_grad".
local function find_kernel_function(device, op, kernel, ending)
  return find_function(device, kernel .. "_rows" .. ending .. calls.make_suffix(op.out.width), {
    template = ("cuda/rows/activation%s.tpl"):format(ending), kernel = kernel, width = op.out.width.text })
end

-- The record that applies a dropout (describe_dropout) to the rows `x` in place.
local function make_drop(at, op, x, drop)
  return { kind = "drop", call = "drop_rows(elements, x, mask, rate)", elements = at.rows .. " * " .. op.out.width.text,
    x = x, mask = drop.mask, rate = drop.rate }
end

-- The record that applies dropout to the result of an operation in place; false if the pass has no dropout.
function forward.drop(device, at, op, training)
  local drop = describe_dropout(device, op, training)
  local record = make_drop(at, op, at.out, drop)
  record.asked = drop.when == "training" and "training"
  return drop.when ~= "never" and record
end

-- The records of the rotation of queries and keys by their positions: one record for both in self-attention, one for
-- each in cross-attention; false for an absent record. way: 1 in the forward pass, -1 in the backward pass.
local function make_rotations(device, op, way, q, kv, suffix)
  local family = op.family
  local routine = family.prefix .. "rotate" .. (suffix or "")
  if family.rotation.kind ~= "rope" then
    return false, false
  elseif not family.cross then
    return { kind = "rotate", call = "routine(way, x)", routine = routine, way = way, x = q }, false
  end
  local function make_rotation(value, x, stride, positions_name)
    local words, kind = device.words[value.stream], family.positions.kind
    return { kind = "rotate", call = "routine(way, positions, T, stride, x)", routine = routine, way = way, x = x,
      T = "block()->view." .. words.T, stride = family.PREFIX .. stride,
      positions = kind == "sequence" and words.sequences .. "()" or kind == "randomized"
        and ("%sfind_%s(&block()->view, block()->l)"):format(family.prefix, positions_name) or false }
  end
  return make_rotation(op.q, q, "QUERY_STRIDE", "positions"), make_rotation(op.kv, kv, "KEY_STRIDE", "key_positions")
end

function forward.attention(device, at, op)
  local queries, keys = make_rotations(device, op, 1, at.q, at.kv, at.one)
  return queries, not at.decodes and keys, { call = "routine(training)",
    routine = op.family.prefix .. "attend" .. at.one,
    training = op.dropout ~= nil and not device.given.evaluates and (at.decodes and "false" or "training") }
end

-- The records of an embedding. The network's first operation also samples the masks of the whole pass.
function forward.embed(device, at, op, training)
  local is_always_on, mode = device.given.evaluates, tostring(training)
  local samples_masks = (device.masks[1] or device.bits[1]) and op == device.net.ops[1] and (training or is_always_on)
  local sampling = { kind = "draw", call = "draw_masks(training)", training = is_always_on and mode }
  return samples_masks and sampling or false, {
    call = "routine(training)", routine = embeddings.name_routine(device.net, op) .. at.one,
    training = (op.dropout and not is_always_on or device.given.noise) and mode or false }
end

local function is_learned(op)
  return op.p ~= nil and not op.p.frozen
end

-- The name of the array that sums gradients of a block's learned position table, which are later added over shards;
-- false without such sums.
function M.name_place_sums(op)
  return is_learned(op) and op.encoding.from_tables and op.scope.name .. "_places" or false
end

-- The start of the name of the function that adds vectors of positions: one function for each stream, or one for each
-- block if vectors have the sampled positions of their block's family and there are several families.
local function name_places_routine(device, op, words)
  local draw = op.encoding.draw
  local is_by_block = draw and not draw.apart and device.net.used_families[2]
  return ("add_%splaces"):format(is_by_block and op.scope.name .. "_" or words.at)
end

function forward.place(device, at, op, training)
  local words = device.words[op.out.stream]
  local routine = find_function(device, name_places_routine(device, op, words) .. at.one, {
    template = "cuda/rows/place.tpl", decodes = at.decodes, encoding = op.encoding, T = words.T,
    drawn = names.name_drawn_places(words, op, "block()->l"), drops = op.dropout and op.dropout.name or false })
  return { call = "routine(x, vectors, mask, out)", routine = routine,
    vectors = op.p and at.p .. op.p.name or false, mask = name_mask(device, op, training) }
end

-- Functions that make the records of an entry of a backward list, by kind; at: the entry's names (M.make_records).
local backward = {
  chain_grad = warp_products.make_chain_grad,
  classify_grad = function() return { call = "classify_backward(x, gradients)" } end,
  block_grad = function(device, _, entry)
    return lists.merge(device.made[entry.op.block], { template = "cuda/op/block_backward.tpl" })
  end,
  embed_grad = function(device, _, entry)
    return { call = "routine(gradients)", routine = embeddings.name_routine(device.net, entry.op) .. "_backward" }
  end,
  rectify_grad = function(_, at, entry) -- of an input gradient that a library has computed
    return { call = "rectify_grad(elements, x, to)", elements = at.rows .. " * " .. entry.op.x.width.text }
  end,
}

function backward.norm_grad(device, at, entry)
  local op, drop = entry.op, entry.dbranch and describe_dropout(device, entry.op, true) or {}
  local record = make_norm(at, op, calls.name_norm_grad(entry),
    "routine(rows, dy, xhat, rstd, scale, mask, rate, to, dbranch, dscale, doffset)")
  record.mask, record.rate = drop.mask or false, drop.rate or false
  record.dscale, record.doffset = at.g .. op.p.name .. "_scale", op.norm == "layer" and at.g .. op.p.name .. "_offset"
  return record
end

function backward.dropout_grad(device, at, entry)
  local drop = describe_dropout(device, entry.op, true)
  if not entry.op.branch then
    return make_drop(at, entry.op, at.to, drop)
  end
  check_width(entry.op, entry.op.branch)
  return { call = "dropout_grad(rows, dy, mask, rate, to)", mask = drop.mask, rate = drop.rate }
end

function backward.bias_grad(_, at, entry)
  return { kind = "bias_grad", call = "column_sums(rows, columns, columns, dy, dbias)",
    columns = entry.op.out.width.text,
    dbias = at.g .. entry.op.weight .. "_bias" }
end

function backward.weight_grad(device, at, entry)
  local op = entry.op
  if device.given.by_team then
    return warp_products.sum_by_team(device, op)
  end
  return { call = "product_gradient(inner, columns, rows, x, dy, dweight)", inner = op.x.width.text,
    columns = op.out.width.text, dweight = at.g .. op.weight },
    M.adds_bias(device, op) and backward.bias_grad(device, at, entry)
end

function backward.input_grad(device, at, entry)
  if device.given.chains then
    return warp_products.make_input_grad(device, at, entry)
  end
  local op = entry.op
  return { call = "product_backward(rows, inner, columns, dy, weight, other, rectified, to)",
    inner = op.x.width.text, columns = op.out.width.text, weight = at.p .. op.weight, adds = tostring(entry.adds),
    other = entry.relu and at.x or entry.adds and at.to or NO_ROWS, rectified = tostring(entry.relu ~= nil) }
end

-- Adds functions for operations over rows. The dropout of their results is an entry of its own, of kind "drop".
calls.add_row_records(forward, backward, find_kernel_function, function(_, _, _, record) return record end)

function backward.attention_grad(device, at, entry)
  local family = entry.op.family
  return { call = "routine(gradients)", routine = family.prefix .. "attend_backward",
    gradients = family.attends.layer_gradients and at.gradients }, make_rotations(device, entry.op, -1, at.dq, at.dkv)
end

function backward.place_grad(device, at, entry)
  local op, words = entry.op, device.words[entry.op.out.stream]
  local sums = M.name_place_sums(op)
  return { call = "routine(mask, dy, vectors)", routine = find_function(device, op.scope.name .. "_places_grad", {
    template = "cuda/rows/place_grad.tpl", encoding = op.encoding, drops = op.dropout and op.dropout.name or false,
    learned = is_learned(op), sums = sums, T = words.T, drawn = names.name_drawn_places(words, op, "block()->l") }),
    vectors = is_learned(op) and not sums and at.g .. op.p.name or false,
    mask = op.dropout and describe_dropout(device, op, true).mask or false }
end

local function make_row_maker(call)
  return function(_, at, entry)
    check_width(entry, entry.to)
    return { call = call, rows = at.rows, to = at.to }
  end
end

backward.accumulate, backward.copy, backward.clear = make_row_maker("add_branch(rows, to, from, to)"),
  make_row_maker("copy_rows(rows, from, to)"), make_row_maker()

-- The names (calls.lua) and the records of an entry { kind, one, of_backward } (cuda_network.lua). at: the result of
-- make_names, or the names of the host's list of launches (cuda_network.lua). training: whether the records belong to a
-- training pass.
function M.make_records(device, scope, training, at, entry)
  local one = entry.one
  local value = (one.op or one).out or one.to
  local rows = at.decodes and "block()->sequences" or device.words[value.stream].all_rows .. "()"
  local with_rows = setmetatable({ rows = rows }, { __index = at })
  local entry_names = calls.make_names(with_rows, one, function(x)
    return scope == device.net and M.place_in_network(at, x) or place_in_block(device, scope, at, x)
  end)
  local makers = entry.of_backward and backward or forward
  local made = table.pack(makers[entry.kind](device, entry_names, one, training))
  if entry.of_backward then
    warp_products.note_rounded(device, one)
  end
  return entry_names, table.unpack(made, 1, made.n)
end

return M
