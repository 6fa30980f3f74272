-- Makes the records of operations in device code. A record describes one call in generated code (calls.lua), or is
-- printed by a template of templates/cuda/op.
--
-- Input: the table `device` (make_state of cuda_network.lua), a scope (builder.lua), an entry of a list. Output:
-- records, or false in place of a record. In the functions of a block of the network, the variable w is the workspace
-- and s is the layer's state; in functions outside of blocks, b is the thread block of the GPU. The kernels of norms,
-- sums and copies work on rows of WIDTH channels.

local calls = require("network.targets.calls")
local cuda_buffers = require("network.targets.cuda_buffers")
local embeddings = require("network.targets.embeddings")
local lists = require("base.lists")
local names = require("network.targets.cuda_names")
local repetitions = require("network.targets.repetitions")
local scope_lists = require("network.lists.scope_lists")
local warp_products = require("network.targets.warp_products")

local M = {}

-- C texts for the records of a scope. decodes: whether records process one token of each sequence, by functions whose
-- names end in "_one". Fields:
--   w, state_prefix, p, g   prefixes of members of the workspace, the state, the parameters and the gradients
--   gradients               the gradients as an argument
--   state(block)            returns the state of the last repetition of a block or a group
--   write_input(group)      returns the input of a repetition of a group
--   decodes                 the argument
--   ending                  the ending of names of functions: "_one" or ""
function M.make_scope_text(device, scope, decodes)
  local ending = decodes and "_one" or ""
  if scope == device.net or scope.is_group then
    return { w = "b->work.", state_prefix = scope.is_group and ("b->%s."):format(scope.name) or "b->work.",
      p = "b->view.p->", g = "b->gradient->", gradients = "b->gradient",
      write_input = function(group) return ("b->%s_input"):format(group.name) end,
      state = function(inner) return "b->" .. inner.name end, decodes = decodes, ending = ending }
  end
  return { w = "w->", state_prefix = "s->", p = scope.name .. "_weights()->", g = scope.name .. "_dweights()->",
    gradients = scope.name .. "_dweights()", decodes = decodes, ending = ending }
end

-- C text of the address of a block's value.
local function write_address_in_block(device, scope, text, value)
  if value.external then
    local op = scope_lists.find_origin(value).op
    if op.kind == "block" and text.input then -- the host's list of launches cannot name other blocks
      M.refuse(value.op or op, 'a product of block "%s" with the output of block "%s" in a wide model', scope.name,
        op.block.name)
    end
    return op.kind == "block" and ("block()->%s.output"):format(op.block.name) or text.w .. value.name
  elseif value == scope.input_value then
    return text.input or "block()->input"
  elseif value == scope.output_value then
    return "s->output"
  end
  return (device.buffers.scopes[scope].read_backward[value] and text.state_prefix or text.w) .. value.name
end

-- C text of the address of a value of the network or of a group. A block's output is in the state of its last
-- repetition, and a group's output is in its own state or in the state of its last block.
function M.write_address_outside(device, text, value)
  local block, scope = value.op and value.op.kind == "block" and value.op.block, value.scope
  if value.external then
    return M.write_address_outside(device, text, value.external)
  elseif value == scope.input_value then
    return text.write_input(scope)
  elseif block and block.is_group then
    return M.write_address_outside(device, text, block.output_value)
  elseif block then
    return text.state(block) .. ".output"
  end
  return (cuda_buffers.is_stored_in_group(device, value) and text.state(scope) .. "." or text.w) .. value.name
end

-- Refuses an operation that has no device code: raises an error { problem = true, what, line } about the description.
function M.refuse(op, message, ...)
  error({ problem = true, line = op and op.line, what = message:format(...) }, 0)
end

-- Refuses a value whose width is not the model's, for an operation whose kernels are compiled for the model's width.
local function check_width(op, value)
  if value.width.text ~= "WIDTH" then
    M.refuse(op, "norms, sums and copies of the value %s, whose %d channels are not the model's width", value.name,
      value.width.count)
  end
end

local NO_BIAS, NO_ROWS, NO_MASK = "NULL", "NULL", "NULL" -- texts of absent arguments

-- Returns the name of a function of generated code. The first call with this name adds the function with these fields.
local function find_function(device, name, fields)
  return calls.find_function(device.rows, name, name, fields)
end

-- Describes the dropout of an operation: { mask, keep_scale, when }.
--   mask         C text of the mask
--   keep_scale   C text of the factor of values that are not dropped
--   when         "always"; "never"; or "training": the dropout is applied if the argument `training` is true. Only
--                functions of blocks have this argument
local function describe_dropout(device, op, training)
  local scope = op.scope
  local is_outside = scope == device.net
  local is_on, bits = device.choices.eval_dropout or is_outside and training, device.operation_bits[op]
  local index = is_outside and "0" or "block()->" .. scope.index
  return { keep_scale = op.dropout.name .. "_KEEP_SCALE",
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
  return formats[drop.when]:format(drop.mask), drop.keep_scale
end

-- Whether a product has a bias and adds it.
function M.adds_bias(device, op)
  return op.p.bias and not device.unbiased_results[op.out]
end

-- Kind of an operation -> the function(device, text, op, training) that returns its forward records. text: C texts of
-- pointers, counts of rows and prefixes for the operation, by role (M.make_records).
local forward = {
  chain = warp_products.make_chain,
  block = function(device, text, op, training)
    local record, mode = device.block_records[op.block], text.decodes and "decode" or "evaluate"
    if op.block.is_group then
      return lists.merge(record, { template = "cuda/op/group_forward.tpl", training = training,
        list = training and record.forward or text.decodes and record.decoding or record.evaluation })
    end
    return training and lists.merge(record, { template = "cuda/op/block_forward.tpl" })
      or { call = record.in_group and "routine(first, past)" or "routine()", first = record.first, past = record.past,
        routine = ("%s_%ss"):format(mode, op.block.name) }
  end,
  -- The values from which passes start.
  zeros = function(_, text) return { template = "cuda/op/clear.tpl", to = text.out, rows = text.rows,
    condition = false } end,
  noise = function(device, _, op, training)
    return { call = "routine(rows, training, out)", training = tostring(training), routine = find_function(device,
      "draw_start", { template = "cuda/rows/start.tpl", deviation = op.deviation,
        T = device.variables[op.out.stream].T }) }
  end,
  classify = function(_, text, _, training)
    return { call = text.decodes and "make_logits_one(x, rows)", x = text.x, training = training }
  end,
}

function forward.product(device, text, op, training)
  if device.choices.cuts_by_warp then
    return warp_products.make_product(device, text, op, training)
  end
  return { call = "product_forward(rows, columns, inner, x, weight, bias, rectified, out)", columns = op.out.width.text,
    inner = op.x.width.text, x = text.x, weight = text.p .. op.weight, rectified = tostring(op.has_relu or false),
    out = text.out,
    bias = M.adds_bias(device, op) and text.p .. op.weight .. "_bias" or NO_BIAS }
end

-- The record that adds the bias to a product that a library has computed, and then applies relu if the product has it.
function forward.add_bias(_, text, op)
  return { call = "add_bias(rows, columns, bias, rectified, out)", columns = op.out.width.text,
    bias = text.p .. op.weight .. "_bias", rectified = tostring(op.has_relu or false) }
end

-- The record of a norm; refuses widths that the kernels do not have.
local function make_norm(text, op, routine, call)
  check_width(op, op.out)
  return calls.make_norm(text, op, routine, call)
end

function forward.norm(_, text, op, _, kernel)
  local rms = op.norm == "rms"
  local record = make_norm(text, op, (rms and "rms_" or "") .. (kernel or rms and "norm" or "layer_norm"),
    "routine(rows, x, scale, offset, xhat, rstd, out)")
  record.offset = not rms and text.p .. op.p.name .. "_offset"
  return record
end

function forward.add_norm(device, text, op, training)
  local record = forward.norm(device, text, op, training, ("add_%snorm%s"):format(op.dropout and "dropout_" or "",
    op.sum and "_sum" or ""))
  record.call = "routine(rows, residual, branch, mask, keep_scale, scale, offset, sum, xhat, rstd, out)"
  record.mask, record.keep_scale = name_mask(device, op, training)
  return record
end

function forward.add(device, _, op, training)
  check_width(op, op.out)
  local mask, keep_scale = name_mask(device, op, training)
  return { call = "routine(rows, residual, branch, mask, keep_scale, out)",
    routine = op.dropout and "add_dropout_branch" or "add_branch", mask = mask, keep_scale = keep_scale }
end

-- The name of the function that applies a kernel, or its gradient, to rows; ending: "" or "_grad".
local function find_kernel_function(device, op, kernel, ending)
  return find_function(device, kernel .. "_rows" .. ending .. calls.make_suffix(op.out.width), {
    template = ("cuda/rows/activation%s.tpl"):format(ending), kernel = kernel, width = op.out.width.text })
end

-- The record that applies a dropout (describe_dropout) to the rows `x` in place.
local function make_drop(text, op, x, drop)
  return { kind = "drop", call = "drop_rows(elements, x, mask, keep_scale)",
    elements = text.rows .. " * " .. op.out.width.text, x = x, mask = drop.mask, keep_scale = drop.keep_scale }
end

-- The record that applies dropout to the result of an operation in place; false if the pass has no dropout.
function forward.drop(device, text, op, training)
  local drop = describe_dropout(device, op, training)
  local record = make_drop(text, op, text.out, drop)
  record.condition = drop.when == "training" and "training"
  return drop.when ~= "never" and record
end

-- Two results for the rotation of queries and keys by their positions: in self-attention the record that rotates both,
-- and false; in cross-attention the record for queries and the record for keys; without rotation false and false.
-- direction: 1 in the forward pass, -1 in the backward pass; suffix: the ending of the function's name.
local function make_rotations(device, op, direction, q, kv, suffix)
  local family = op.family
  local routine = family.prefix .. "rotate" .. (suffix or "")
  if family.rotation.kind ~= "rope" then
    return false, false
  elseif not family.cross then
    return { kind = "rotate", call = "routine(direction, x)", routine = routine, direction = direction, x = q }, false
  end
  local function make_rotation(value, x, stride, positions_name)
    local variables, kind = device.variables[value.stream], family.positions.kind
    return { kind = "rotate", call = "routine(direction, positions, T, stride, x)", routine = routine,
      direction = direction, x = x, T = "block()->view." .. variables.T, stride = family.PREFIX .. stride,
      positions = kind == "sequence" and variables.sequence_positions .. "()" or kind == "randomized"
        and ("%sfind_%s(&block()->view, block()->l)"):format(family.prefix, positions_name) or false }
  end
  return make_rotation(op.q, q, "QUERY_STRIDE", "positions"), make_rotation(op.kv, kv, "KEY_STRIDE", "key_positions")
end

function forward.attention(device, text, op)
  local query_rotation, key_rotation = make_rotations(device, op, 1, text.q, text.kv, text.ending)
  return query_rotation, not text.decodes and key_rotation, { call = "routine(training)",
    routine = op.family.prefix .. "attend" .. text.ending,
    training = op.dropout ~= nil and not device.choices.eval_dropout and (text.decodes and "false" or "training") }
end

-- The records of an embedding. The network's first operation also samples the masks of the whole pass.
function forward.embed(device, text, op, training)
  local is_always_on, mode = device.choices.eval_dropout, tostring(training)
  local samples_masks = (device.masks[1] or device.bits[1]) and op == device.net.ops[1] and (training or is_always_on)
  local sampling = { kind = "draw", call = "draw_masks(training)", training = is_always_on and mode }
  return samples_masks and sampling or false, {
    call = "routine(training)", routine = embeddings.name_routine(device.net, op) .. text.ending,
    training = (op.dropout and not is_always_on or device.choices.noise) and mode or false }
end

local function is_learned(op)
  return op.p ~= nil and not op.p.frozen
end

-- The name of the array that sums gradients of a block's learned position table, which are later added over shards;
-- false if the block has none.
function M.name_place_sums(op)
  return is_learned(op) and op.encoding.is_read_from_tables and op.scope.name .. "_places" or false
end

-- Whether the backward pass of an operation sums gradients of learned tables over a shard.
function M.sums_table_gradients(op)
  return op.kind == "attention" and op.family.attends.has_table_sums
    or op.kind == "place" and M.name_place_sums(op) ~= false
end

-- The start of the name of the function that adds vectors of positions. There is one function for each stream, or for
-- each block if there are several families and the vectors depend on sampled positions of the block's family.
local function name_places_routine(device, op, variables)
  local draw = op.encoding.draw
  local is_by_block = draw and not draw.is_separate and device.net.used_families[2]
  return ("add_%splaces"):format(is_by_block and op.scope.name .. "_" or variables.prefix)
end

function forward.place(device, text, op, training)
  local variables = device.variables[op.out.stream]
  local routine = find_function(device, name_places_routine(device, op, variables) .. text.ending, {
    template = "cuda/rows/place.tpl", decodes = text.decodes, encoding = op.encoding, T = variables.T,
    sampled_positions = names.name_layer_draws(variables, op, "block()->l"),
    dropout = op.dropout and op.dropout.name or false })
  return { call = "routine(x, vectors, mask, out)", routine = routine,
    vectors = op.p and text.p .. op.p.name or false, mask = name_mask(device, op, training) }
end

-- Kind of an entry of a backward list -> the function(device, text, entry, training) that returns its records. text: C
-- texts of pointers, counts of rows and prefixes for the entry, by role (M.make_records).
local backward = {
  chain_grad = warp_products.make_chain_grad,
  classify_grad = function(device)
    return { call = device.has_pass_losses and "classify_backward(x, gradients, is_added)"
      or "classify_backward(x, gradients)", is_added = repetitions.PASSES .. " > 1" }
  end,
  block_grad = function(device, _, entry)
    local block, record = entry.op.block, device.block_records[entry.op.block]
    return lists.merge(record, block.is_group and { template = "cuda/op/group_backward.tpl",
      list = record.backward } or { template = "cuda/op/block_backward.tpl" })
  end,
  embed_grad = function(device, _, entry)
    return { call = "routine(gradients)", routine = embeddings.name_routine(device.net, entry.op) .. "_backward" }
  end,
  rectify_grad = function(_, text, entry) -- for an input gradient that a library has computed
    return { call = "rectify_grad(elements, x, to)", elements = text.rows .. " * " .. entry.op.x.width.text }
  end,
}

-- Two results for the gradient of a norm's parameter: C text of the address to which it is stored, and in a group the
-- record that adds the gradients of repetitions, else false. The last repetition, which comes first in the backward
-- pass, stores to the gradient; each other repetition stores to further memory, from which the record adds.
local function make_gradient(device, text, op, name)
  local group, gradient = op.scope, text.g .. name
  if not group.is_group then
    return gradient, false
  end
  local other_gradient = (device.choices.wide and text.g or text.w) .. name .. "_more"
  local condition = ("%s + 1 < %s"):format(group.index, repetitions.write_count(group, repetitions.PASSES))
  return ("%s ? (real *)%s : %s"):format(condition, other_gradient, gradient), { call = "add_numbers(count, from, to)",
    count = op.out.width.text, condition = condition, from = other_gradient, to = gradient }
end

-- The parameters of an entry of a group's backward list whose gradients are sums over repetitions: { name, size }.
function M.list_shared_gradients(entry)
  local op = entry.op
  return entry.kind ~= "norm_grad" and {} or lists.map({ "_scale", op.norm == "layer" and "_offset" or nil },
    function(ending) return { name = op.p.name .. ending, size = op.out.width.text } end)
end

function backward.norm_grad(device, text, entry)
  local op, drop = entry.op, entry.dbranch and describe_dropout(device, entry.op, true) or {}
  local record = make_norm(text, op, calls.name_norm_grad(entry),
    "routine(rows, dy, xhat, rstd, scale, mask, keep_scale, to, dbranch, dscale, doffset)")
  record.mask, record.keep_scale = drop.mask or false, drop.keep_scale or false
  local dscale, scale_sum = make_gradient(device, text, op, op.p.name .. "_scale")
  local doffset, offset_sum = make_gradient(device, text, op, op.p.name .. "_offset")
  local has_offset = op.norm == "layer"
  record.dscale, record.doffset = dscale, has_offset and doffset
  return record, scale_sum, has_offset and offset_sum
end

function backward.dropout_grad(device, text, entry)
  local drop = describe_dropout(device, entry.op, true)
  if not entry.op.branch then
    return make_drop(text, entry.op, text.to, drop)
  end
  check_width(entry.op, entry.op.branch)
  return { call = "dropout_grad(rows, dy, mask, keep_scale, to)", mask = drop.mask, keep_scale = drop.keep_scale }
end

function backward.bias_grad(_, text, entry)
  return { kind = "bias_grad", call = "column_sums(rows, columns, stride, dy, dbias)",
    columns = entry.op.out.width.text, stride = entry.op.out.width.text,
    dbias = text.g .. entry.op.weight .. "_bias" }
end

function backward.weight_grad(device, text, entry)
  local op = entry.op
  if device.choices.by_team then
    return warp_products.sum_by_team(device, op)
  end
  return { call = "product_gradient(inner, columns, rows, x, dy, dweight)", inner = op.x.width.text,
    columns = op.out.width.text, dweight = text.g .. op.weight },
    M.adds_bias(device, op) and backward.bias_grad(device, text, entry)
end

function backward.input_grad(device, text, entry)
  if device.choices.cuts_by_warp then
    return warp_products.make_input_grad(device, text, entry)
  end
  local op = entry.op
  return { call = "product_backward(rows, inner, columns, dy, weight, other, rectified, to)",
    inner = op.x.width.text, columns = op.out.width.text, weight = text.p .. op.weight,
    is_added = tostring(entry.is_added), rectified = tostring(entry.rectified_value ~= nil),
    other = entry.rectified_value and text.x or entry.is_added and text.to or NO_ROWS }
end

-- Dropout of an operation over rows is a separate entry (APPLIES_DROPOUT of cuda_lists.lua).
local function keep_without_dropout(_, _, _, record)
  return record
end

calls.add_row_records(forward, backward, find_kernel_function, keep_without_dropout)

function backward.attention_grad(device, text, entry)
  local family = entry.op.family
  return { call = "routine(gradients)", routine = family.prefix .. "attend_backward",
    gradients = family.attends.layer_gradients and text.gradients },
    make_rotations(device, entry.op, -1, text.dq, text.dkv)
end

function backward.place_grad(device, text, entry)
  local op, variables = entry.op, device.variables[entry.op.out.stream]
  local sums = M.name_place_sums(op)
  return { call = "routine(mask, dy, vectors)", routine = find_function(device, op.scope.name .. "_places_grad", {
    template = "cuda/rows/place_grad.tpl", encoding = op.encoding, dropout = op.dropout and op.dropout.name or false,
    is_learned = is_learned(op), sum_member = sums, T = variables.T,
    sampled_positions = names.name_layer_draws(variables, op, "block()->l") }),
    vectors = is_learned(op) and not sums and text.g .. op.p.name or false,
    mask = op.dropout and describe_dropout(device, op, true).mask or false }
end

-- Makes the function that returns the record of a call for rows of the model's width.
local function make_row_maker(call)
  return function(_, text, entry)
    check_width(entry, entry.to)
    return { call = call, rows = text.rows, to = text.to }
  end
end

backward.accumulate, backward.copy = make_row_maker("add_branch(rows, to, from, to)"),
  make_row_maker("copy_rows(rows, from, to)")

function backward.clear(_, text, entry)
  check_width(entry, entry.to)
  return { rows = text.rows, to = text.to,
    condition = entry.only_with_free_passes and repetitions.FREE_PASSES .. " > 0" or false }
end

-- The texts (calls.lua) and the records of an entry { kind, item, is_backward } (cuda_lists.lua). scope_text: the
-- result of make_scope_text, or the texts for the host's list of launches (cuda_lists.lua). training: whether the
-- records belong to a training pass.
function M.make_records(device, scope, training, scope_text, entry)
  local item = entry.item
  local value = (item.op or item).out or item.to
  local rows = scope_text.decodes and "block()->sequences" or device.variables[value.stream].all_rows .. "()"
  local with_rows = setmetatable({ rows = rows }, { __index = scope_text })
  local text = calls.make_text(with_rows, item, function(x)
    return (scope == device.net or scope.is_group) and M.write_address_outside(device, scope_text, x)
      or write_address_in_block(device, scope, scope_text, x)
  end)
  local makers = entry.is_backward and backward or forward
  local records = table.pack(makers[entry.kind](device, text, item, training))
  if entry.is_backward then
    warp_products.note_rounded(device, item)
  end
  return text, table.unpack(records, 1, records.n)
end

return M
