-- Makes the records of operations on the CPU. A record describes one call in generated code (calls.lua), or is printed
-- by a template of templates/cpu/op.
--
-- Input: the table `cpu` (M.derive of cpu_network.lua); a scope (builder.lua); for the network's forward list, the mode
-- "train" or "evaluate". Output: records of the forward list, of the backward list, or of decoding. The generated
-- functions that these calls need are added to cpu.products, cpu.gradients and cpu.rows (cpu_network.lua).

local attention = require("network.graph.attention")
local buffers = require("network.lists.buffers")
local calls = require("network.targets.calls")
local decoding = require("network.lists.decoding")
local embeddings = require("network.targets.embeddings")
local names = require("network.targets.cpu_names")
local recurrence = require("network.graph.recurrence")
local rows = require("network.targets.cpu_rows")
local cpu_buffers = require("network.targets.cpu_buffers")

local M = {}

local find_function, make_suffix = calls.find_function, calls.make_suffix

-- Kind of an operation -> the function(cpu, text, op, mode) that returns its forward records. text: C texts of
-- pointers, counts of rows and prefixes for the operation, by role (cpu_names.lua).
local forward = { classify = function() return { call = "classify(self, x, 'sums')" } end }

-- The name of the generated function of a norm. form: the middle of the name, such as "row_norm".
-- dropout: the name of the branch's dropout, or false. fields: the function's further fields.
local function find_norm_function(cpu, op, form, dropout, fields)
  local ending = dropout and dropout ~= "BRANCH" and "_" .. dropout:lower() or ""
  local name = (op.norm == "rms" and "rms_" or "") .. form .. make_suffix(op.out.width) .. ending
  fields.width, fields.offset, fields.dropout = op.out.width.text, op.norm ~= "rms", dropout
  return find_function(cpu.rows, name .. (dropout and " dropped" or ""), name, fields)
end

-- The name of the function of a norm, or of a fused sum and norm, in the forward pass.
local function find_forward_norm(cpu, op)
  local is_rms = op.norm == "rms"
  local kernel = op.kind == "norm" and (is_rms and "rms_norm" or "layer_norm")
    or (is_rms and "rms_" or "") .. "add_%snorm" .. (op.sum and "_sum" or "")
  local form = op.kind == "norm" and "row_norm" or op.sum and "residual_sum_norm" or "residual_norm"
  return find_norm_function(cpu, op, form, op.dropout and op.dropout.name or false, {
    template = "cpu/rows/" .. op.kind .. ".tpl", sum = op.sum ~= nil, kernel = kernel:format(""),
    drop_kernel = kernel:format("dropout_") })
end

-- C text of the part of the random counter that identifies the current repetition of a block.
local function write_site(scope)
  return ("(uint32_t)%s + %d"):format(scope.index, scope.first_counter_index)
end

-- The record that samples the mask of an operation's dropout.
local function make_mask_sampling(cpu, text, op)
  return { kind = "draw", call = "draw_masks(self, part, site, dropout_number, below, length, width, mask)",
    condition = not cpu.eval_dropout and "train", part = text.is_partial and text.part or text.all,
    site = op.scope ~= cpu.net and write_site(op.scope) or "0", dropout_number = op.dropout_number,
    below = op.dropout.name .. "_DROP_BELOW",
    length = cpu.net.streams[2] and text.w .. cpu_buffers.get_prefix(cpu.net, op.out.stream) .. "length" or false,
    width = op.out.width.text, mask = text.state_prefix .. op.mask }
end

-- The record that applies the mask of an operation's dropout to `x` in place. elements: C text of x's element count.
local function make_mask_application(text, op, x, elements)
  return { kind = "drop", call = "dropout_apply(elements, mask, factor, x)", elements = elements,
    mask = text.state_prefix .. op.mask, factor = op.dropout.name .. "_KEEP_SCALE", x = x }
end

-- The records of an operation and of its dropout: the operation's record, a record that samples the mask, and a record
-- that applies the mask in place. elements: C text of the number of elements of the result, or nil.
local function add_dropout(cpu, text, op, record, elements)
  if not op.dropout then
    return record
  end
  local application = make_mask_application(text, op, text.out, elements or text.tokens .. " * " .. op.out.width.text)
  application.condition = not cpu.eval_dropout and "train"
  return record, make_mask_sampling(cpu, text, op), application
end

function forward.product(cpu, text, op)
  local finish = op.has_relu and "FINISH_BIAS_RELU" or op.p.bias and "FINISH_BIAS" or "FINISH_STORE"
  local inner, columns = op.x.width.text, op.out.width.text
  local name = find_function(cpu.products, table.concat({ "to", inner, columns, finish }, " "), "to_" .. op.role,
    { inner = inner, columns = columns, finish = finish, extra = op.p.bias and "bias" or false, x = "x", y = "y" })
  return add_dropout(cpu, text, op, { call = "routine(rows, x, panels, bias, out)", routine = name,
    panels = text.panels .. op.weight, bias = op.p.bias and text.p .. op.weight .. "_bias" })
end

-- C text of the number of tokens of a traced value if there are several streams; false if there is one stream.
local function write_traced_tokens(cpu, value)
  return cpu.net.streams[2] and ("w.%stokens"):format(cpu_buffers.get_prefix(cpu.net, value.stream)) or false
end

function forward.norm(cpu, text, op)
  local record = calls.make_norm(text, op, find_forward_norm(cpu, op),
    "routine(tokens, x, scale, offset, xhat, rstd, out)")
  record.offset = op.norm == "layer" and text.p .. op.p.name .. "_offset"
  return record
end

-- The records of a sum; with dropout, the record that samples its masks comes first.
local function make_sum(cpu, text, op, record)
  local form = cpu.eval_dropout and "%s" or "train ? %s : NULL"
  record.residual, record.branch, record.mask = text.residual, text.branch,
    op.dropout and form:format(text.state_prefix .. op.mask) or false
  return op.dropout and make_mask_sampling(cpu, text, op) or record, op.dropout and record
end

function forward.add_norm(cpu, text, op)
  local record = forward.norm(cpu, text, op)
  record.call = "routine(tokens, residual, branch, mask, scale, offset, sum, xhat, rstd, out)"
  return make_sum(cpu, text, op, record)
end

-- The record of a sum of rows. dropout: the name of the dropout of the branch, or false.
local function make_row_sum(cpu, width, dropout, call)
  local prefix = "add_rows"
  if dropout then
    prefix = dropout == "BRANCH" and "add_residual" or "add_" .. dropout:lower()
  end
  local name = prefix .. make_suffix(width)
  return { call = call, routine = find_function(cpu.rows, name, name, { template = "cpu/rows/add.tpl",
    width = width.text, dropout = dropout }) }
end

function forward.add(cpu, text, op)
  return make_sum(cpu, text, op, make_row_sum(cpu, op.out.width, op.dropout and op.dropout.name or false,
    "routine(tokens, residual, branch, mask, out)"))
end

-- The name of the function that applies a kernel (ending: "") or its gradient (ending: "_grad") to rows.
local function find_kernel_function(cpu, op, kernel, ending)
  local key, name = table.concat({ kernel, ending, op.out.width.text }, " "), kernel .. "_" .. op.out.name .. ending
  return find_function(cpu.rows, key, name, { template = ("cpu/rows/activation%s.tpl"):format(ending),
    kernel = kernel, width = op.out.width.text })
end

-- The record of an attention, forward or backward. routine: a format for the function's name. The field `part` is the
-- variable that selects queries, if the last repetition computes only labelled queries; else false.
local function make_attention(cpu, text, op, routine)
  local is_labelled = cpu.labelled_rows and cpu.labelled_rows.labelled_work[op]
  return { routine = routine:format(op.family.name), part = is_labelled and text.part or false,
    saved = "&" .. text.state_prefix .. op.family.name, kv = op.kv ~= op.q and text.kv }
end

function forward.attention(cpu, text, op)
  local record = make_attention(cpu, text, op, "attention_%s")
  record.call = "routine(self, 'l', part, site, saved, q, kv, contribution, cache, tiles, sums, out)"
  record.site = op.dropout and write_site(op.scope) or false
  local is_decoded = op.family.is_decoded -- M.list_decoding replaces these "NULL" by caches
  record.cache, record.tiles = is_decoded and op.kv == op.q and "NULL", op.family.caches_tiles and "NULL"
  record.sums = is_decoded and op.family.score.running and "NULL"
  return record
end

-- The name of a recurrence's function for a direction, "forward" or "backward". One template prints both functions.
local function find_recurrence_function(cpu, op, direction)
  local cell = recurrence.CELLS[op.cell]
  local width, columns = op.out.width.text, op.p.columns.text
  local function find_product(inner, columns_text, name, finish, extra)
    local prefix = name:match("^%l+") -- "to" in the forward pass, "from" in the backward pass
    return find_function(cpu.products, table.concat({ prefix, inner, columns_text, finish }, " "), name, {
      inner = inner, columns = columns_text, finish = finish, extra = extra or false,
      x = prefix == "to" and "x" or "dy", y = prefix == "to" and "y" or "dx" })
  end
  local function find_gradient(inner, columns_text, name, has_bias)
    return find_function(cpu.gradients, table.concat({ inner, columns_text, tostring(has_bias) }, " "), name .. "_grad",
      { inner = inner, columns = columns_text, has_bias = has_bias })
  end
  -- The product of the state and the recurrent weights is added to the sums (values before activations) of the same
  -- step. But a cell with heads, for a stack or a tape, stores the product and adds it to the sums of the next step.
  local fields = { template = ("cpu/rows/%s.tpl"):format(op.cell), width = width, sums = op.sums.text,
    columns = columns, cells = op.cells or false, weight_grad = find_gradient(width, columns, "recurrent", false),
    forward_product = find_product(width, columns, "to_" .. op.out.name, cell.heads and "FINISH_STORE" or "FINISH_ADD",
      not cell.heads and "y"),
    backward_product = find_product(columns, width, "from_" .. op.out.name,
      cell.adds_gradient and "FINISH_ADD" or "FINISH_STORE", cell.adds_gradient and "dx") }
  -- op.layers: further linear maps of the cell (recurrence.lua). The input of each map is rectified.
  for i, p in ipairs(op.layers) do
    local inner, outer, finish = p.rows.text, p.columns.text, op.layers[i + 1] and "FINISH_BIAS_RELU" or "FINISH_BIAS"
    fields[p.name] = { from_width = inner, to_width = outer, grad = find_gradient(inner, outer, p.name, true),
      forward_product = find_product(inner, outer, "to_" .. p.name, finish, "bias"),
      backward_product = find_product(outer, inner, "from_" .. p.name, "FINISH_RELU_GRAD", "rectified") }
  end
  return find_function(cpu.rows, op.out.name, op.out.name, fields) .. "_" .. direction
end

-- stores: C text of whether values of all steps are stored; false if the cell has no such values.
function forward.recur(cpu, _, op, mode)
  return { call = "routine(self, stores, out)", routine = find_recurrence_function(cpu, op, "forward"),
    stores = recurrence.CELLS[op.cell].has_step_values and (mode == "train" and "true" or "false") or false,
    traced_tokens = write_traced_tokens(cpu, op.out) }
end

function forward.embed(cpu, _, op)
  return { call = "routine(self, out)", routine = embeddings.name_routine(cpu.net, op),
    traced_tokens = write_traced_tokens(cpu, op.out) }
end

-- only_with_free_passes: whether memory is cleared only in steps with free passes (passes without gradient).
function forward.zeros(_, text, op)
  return { template = "cpu/op/clear.tpl", to = text.out, tokens = text.tokens, width = op.out.width.text,
    only_with_free_passes = false }
end

function forward.noise(cpu, _, op)
  return { call = "routine(self, out)", routine = find_function(cpu.rows, "draw_start", "draw_start",
    { template = "cpu/rows/noise.tpl", deviation = op.deviation }) }
end

-- C text of the array of a stream's sampled positions; false if positions are not sampled. prefix: the stream's prefix.
local function write_positions(text, op, prefix)
  local draw = op.encoding.draw
  if not draw then
    return false
  elseif draw.kind == "sequence" then
    return text.w .. prefix .. "position"
  end
  local family_prefix = (attention.find_family_of_positions(op.scope) or draw).prefix
  return draw.is_separate and ("%sshared->input_position[%d]"):format(text.w, op.out.stream.index)
    or ("%sshared->%sposition[%s]"):format(text.w, family_prefix, draw.layer_index)
end

-- C text of the number of elements of a value of the model's width. prefix: the prefix of the value's stream.
local function write_element_count(text, prefix)
  return ("%s%stokens * WIDTH"):format(text.w, prefix)
end

-- Returns the record that adds vectors of positions (form "place") or sums their gradient ("place_grad"), and C text of
-- the number of elements of the result. vectors: C text of the learned table or of its gradient; false without a table.
local function make_position_record(cpu, text, op, form, vectors, call)
  local prefix = cpu_buffers.get_prefix(cpu.net, op.out.stream)
  local name = form .. (prefix ~= "" and "_" .. op.out.stream.name or "")
  return { call = call, routine = find_function(cpu.rows, name, name, { stream_prefix = prefix,
    template = ("cpu/rows/%s.tpl"):format(form), encoding = op.encoding }),
    positions = write_positions(text, op, prefix), vectors = vectors }, write_element_count(text, prefix)
end

function forward.place(cpu, text, op)
  local record, elements = make_position_record(cpu, text, op, "place", op.p and text.p .. op.p.name or false,
    "routine(self, positions, x, vectors, out)")
  return add_dropout(cpu, text, op, record, elements)
end

-- Sets two fields of the last record if this is the record of a group:
--   list   the records of a repetition, which list_records(cpu, group, ...) returns
--   part   whether these records read the variable `part`
local function fill_group(cpu, records, op, list_records, ...)
  local group, record = op and op.block, records[#records]
  if group and group.is_group then
    record.list = list_records(cpu, group, ...)
    record.part = calls.find_read(record.list).part or false
  end
end

-- The record of all repetitions of a block or a group. If repetitions of a block have no buffers for their inputs, they
-- pass values through the buffer of the stream's output.
function forward.block(cpu, text, op, mode)
  local block = op.block
  if block.is_group then
    return names.make_group(cpu, text, op, false, block.has_pass_losses and mode == "train")
  end
  local first, past, number = names.write_range(block)
  local keeps_input = names.keeps_input(cpu, block, mode)
  local kept_input, next_input = ("w.%s[%s].input"):format(block.name, number), ("w.%s[l + 1].input"):format(block.name)
  local stream_output = "w." .. buffers.name_for_stream("output", op.out)
  local first_input = not op.x.carried and text.x -- only an input that is not carried has a buffer of its own name
  local record = { call = "routine(self, number, cache, input, output)", name = block.name, first = first, past = past,
    number = number, loops = block.loops, count = block.count_name, template = "cpu/op/block.tpl",
    routine = block.name .. "_forward", cache = false, traced_tokens = write_traced_tokens(cpu, op.out) }
  if number == first then -- one repetition
    record.input, record.output = keeps_input and kept_input or first_input or stream_output, text.out
    return record
  end
  record.input = keeps_input and kept_input or first_input and ("l > %s ? %s : %s"):format(first, stream_output,
    first_input) or stream_output
  record.output = (keeps_input or text.out ~= stream_output) and ("l + 1 < %s ? %s : %s"):format(past,
    keeps_input and next_input or stream_output, text.out) or stream_output
  return record
end

-- Kind of an entry of a backward list -> the function(cpu, text, entry, mode) that returns its records. text: C texts
-- of pointers, counts of rows and prefixes for the entry, by role (cpu_names.lua).
local backward = {
  accumulate = function(cpu, _, entry)
    return make_row_sum(cpu, entry.to.width, false, "routine(tokens, to, from, to)")
  end,
  copy = function(_, text, entry)
    return { tokens = text.tokens, width = entry.to.width.text, from = text.from, to = text.to,
      only_with_free_passes = entry.only_with_free_passes or false }
  end,
  classify_grad = function() return { call = "loss_and_gradient(self, x, to, 'g', 'sums')" } end,
}
backward.clear = backward.copy

function backward.norm_grad(cpu, text, entry)
  local op, dropout = entry.op, entry.dbranch and entry.op.dropout.name or false
  local is_alone, added = op.kind == "norm", op.kind == "norm" and entry.is_added and "_added" or ""
  local form = is_alone and "row_norm" or entry.is_added and "residual_sum_norm" or "residual_norm"
  local is_in_place = not is_alone and not entry.is_added
  local record = calls.make_norm(text, op, find_norm_function(cpu, op, form .. "_grad" .. added, dropout, {
    kernel = calls.name_norm_grad(entry), is_added = entry.is_added or false,
    template = is_in_place and "cpu/rows/add_norm_grad.tpl" or "cpu/rows/norm_grad.tpl" }),
    "routine(tokens, dy, mask, xhat, rstd, scale, to, dbranch, dscale, doffset)")
  record.dy, record.mask = not is_in_place and text.dy, dropout and text.state_prefix .. op.mask
  record.dscale = text.g .. op.p.name .. "_scale"
  record.doffset = op.norm == "layer" and text.g .. op.p.name .. "_offset"
  return record
end

function backward.dropout_grad(cpu, text, entry)
  local op = entry.op
  local name = op.dropout.name:lower() .. "_grad" .. make_suffix(op.out.width)
  return { call = "routine(tokens, dy, mask, to)", routine = find_function(cpu.rows, name, name, {
    template = "cpu/rows/dropout_grad.tpl", width = op.out.width.text, dropout = op.dropout.name,
    branch = op.branch ~= nil }), mask = text.state_prefix .. op.mask }
end

function backward.weight_grad(cpu, text, entry)
  local op = entry.op
  local inner, columns = op.x.width.text, op.out.width.text
  local name = find_function(cpu.gradients, table.concat({ inner, columns, tostring(op.p.bias) }, " "),
    op.weight .. "_grad", { inner = inner, columns = columns, has_bias = op.p.bias })
  return { call = "routine(tokens, x, dy, dw, db)", routine = name, dw = text.g .. op.weight,
    db = op.p.bias and text.g .. op.weight .. "_bias" }
end

function backward.input_grad(cpu, text, entry)
  local op = entry.op
  local inner, columns = op.out.width.text, op.x.width.text
  local finish = entry.rectified_value and "FINISH_RELU_GRAD" or entry.is_added and "FINISH_ADD" or "FINISH_STORE"
  local extra = entry.rectified_value and op.x.name or entry.is_added and "dx" or false
  local name = find_function(cpu.products, table.concat({ "from", inner, columns, finish }, " "), "from_" .. op.role,
    { inner = inner, columns = columns, finish = finish, extra = extra, x = "dy", y = "dx" })
  return { call = "routine(rows, dy, panels, relu, to)", routine = name,
    panels = text.panels .. op.weight .. "_transposed", relu = entry.rectified_value and text.x or false }
end

calls.add_row_records(forward, backward, find_kernel_function, add_dropout)

function backward.attention_grad(cpu, text, entry)
  local record = make_attention(cpu, text, entry.op, "attention_%s_backward")
  record.call = "routine(self, 'l', part, saved, q, kv, contribution, out, dy, dq, dkv, dcontribution)"
  record.dkv = record.kv and text.dkv
  return record
end

function backward.place_grad(cpu, text, entry)
  local op = entry.op
  local is_learned = op.p ~= nil and not op.p.frozen
  local elements = write_element_count(text, cpu_buffers.get_prefix(cpu.net, op.out.stream))
  return op.dropout and make_mask_application(text, op, text.dy, elements) or false,
    is_learned and (make_position_record(cpu, text, op, "place_grad", text.g .. op.p.name,
      "routine(self, positions, dy, vectors)"))
end

function backward.block_grad(cpu, text, entry)
  local block = entry.op.block
  if block.is_group then
    return names.make_group(cpu, text, entry.op, true,
      block.has_pass_losses and make_row_sum(cpu, entry.op.out.width, false, "").routine)
  end
  local first, past, number = names.write_range(block, true)
  local layer = block.loops > 1 and ("%s %% %s"):format(number, block.count_name) or number
  return { call = "routine(self, number, gradient)", template = "cpu/op/block_grad.tpl",
    routine = block.name .. "_backward", first = first, past = past, number = number,
    gradient = ("&g->%s[%s]"):format(block.name, layer) }
end

function backward.recur_grad(cpu, _, entry)
  return { call = "routine(self, out, dy, 'g')", routine = find_recurrence_function(cpu, entry.op, "backward") }
end

function backward.embed_grad(cpu, text, entry)
  local is_for_vocabulary = cpu.vocabulary and cpu.vocabulary.embed == entry.op
  return { call = "routine(self, dy, 'g')",
    routine = embeddings.name_routine(cpu.net, entry.op) .. (is_for_vocabulary and "_vocabulary" or "") .. "_backward",
    self = not is_for_vocabulary and text.self }
end

-- Returns a function(makers_by_kind, entry) that appends an entry's records; makers_by_kind: `forward` or `backward`.
local function make_appender(cpu, scope, text, place, records, mode)
  local choose_text = rows.make_naming(cpu, scope, text, place, records, mode)
  return function(makers_by_kind, entry)
    local scope_text, place_value = choose_text(entry)
    local entry_text = names.make_entry_text(cpu, scope_text, entry, place_value)
    calls.append("cpu", records, entry.kind, entry_text, makers_by_kind[entry.kind](cpu, entry_text, entry, mode))
  end
end

-- The records of a scope's forward list. mode: "train" or "evaluate" for the network and its groups; "forward" for a
-- block, whose function has a variable for the mode.
function M.list_forward(cpu, scope, mode)
  local text, records = names.make_scope_text(cpu, scope, mode), {}
  local place = names.make_placer(cpu, scope, text, mode)
  local append = make_appender(cpu, scope, text, place, records, mode)
  for _, op in ipairs(cpu.lists[scope].forward) do
    if op.kind ~= "classify" or mode ~= "train" then -- in training the backward pass begins with classify
      append(forward, op)
      fill_group(cpu, records, op, M.list_forward, mode)
      rows.append_after(cpu, text, records, place, op)
    end
  end
  return records
end

-- The kinds of records of dropout, which decoding leaves out.
local DROPOUT_KINDS = { draw = true, drop = true }

-- Records of decoding, without dropout, for a block of the decoded stream, for a group or for the network.
-- runs_once: whether the records run once, before all tokens; else they run with every token.
function M.list_decoding(cpu, scope, stream, runs_once)
  -- cached_places: the value of cross-attention's keys and values -> C text of the cache
  local text, records, cached_places = names.make_scope_text(cpu, scope, "evaluate"), {}, {}
  local place = names.make_placer(cpu, scope, text, "evaluate")
  for _, op in ipairs(decoding.list_attentions(scope, stream)) do
    cached_places[op.kv] = op.kv ~= op.q and "cache->" .. op.family.name or nil
  end
  for _, op in ipairs(decoding.list_part(cpu.lists[scope].forward, stream, runs_once)) do
    local entry_text = names.make_entry_text(cpu, text, op, function(value)
      return cached_places[value] or place(value)
    end)
    for _, record in ipairs({ forward[op.kind](cpu, entry_text, op, "evaluate") }) do
      if record and not DROPOUT_KINDS[record.kind] then
        record.mask = record.mask and "NULL"
        record.cache = record.cache and "cache->" .. op.family.name
        record.tiles = record.tiles and ("cache->%s_tiles"):format(op.family.name)
        record.sums = record.sums and ("cache->%s_sums"):format(op.family.name)
        record.part = record.part and text.all
        record.call = op.kind == "classify" and "read_out(self, x)" or record.call
        calls.append("cpu", records, op.kind, entry_text, record)
      end
    end
    fill_group(cpu, records, op, M.list_decoding, stream, runs_once)
  end
  return records
end

function M.list_backward(cpu, scope)
  local mode = (scope == cpu.net or scope.is_group) and "train" or "back"
  local text, records = names.make_scope_text(cpu, scope, mode), {}
  local append = make_appender(cpu, scope, text, names.make_placer(cpu, scope, text, mode), records, mode)
  for _, entry in ipairs(cpu.lists[scope].backward) do
    rows.append_before(cpu, text, records, entry)
    append(backward, entry)
    fill_group(cpu, records, entry.kind == "block_grad" and entry.op, M.list_backward)
  end
  rows.append_before(cpu, text, records, scope)
  return records
end

return M
