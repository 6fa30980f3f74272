-- Assigns a buffer to each value and each gradient of a network.
--
-- If a block's backward list reads a value of the block, each repetition has a buffer for this value in training. In
-- evaluation, one buffer serves all repetitions. Other values with equal names share a buffer; scope_lists.lua prevents
-- conflicts.
--
-- Input: a network (builder.lua), and for each scope its forward list, and its backward list with buffers of gradients.
-- Output:
--   workspace   the list of the buffers that exist once
--   scopes      scope -> { state_buffers, read_backward }
--     state_buffers   the list of the buffers that each repetition of a block or a group has: rows of values, masks,
--                     and numbers that norms and attention save; empty for the network
--     read_backward   the set of the values that the backward list reads
-- Fields of a buffer:
--   name, width, stream   the name, width and stream of a value (builder.lua)
--   form       the shape of its content, one of these words:
--     "rows"         [rows][width]
--     "row"          one number for each row
--     "mask"         [rows][width], a mask of dropout
--     "family"       the numbers that an attention saves; the buffer has the field `family` instead of a name
--     "vocabulary"   [symbols][width] (cpu_rows.lua)
--     "step"         rows of one step of a recurrence, one for each sequence
--     "steps"        "rows" in training, "step" in evaluation
--   training   whether the buffer exists only in training
--   max_cells  the largest number of cells of a stack; nil for other buffers. The buffer's width.count is the size of
--              one cell
--   comment    text for the comment of its declaration, or nil
--   is_read_backward   whether the backward pass reads the buffer
--   writer     its first writer: an operation of the forward list, or an entry of the backward list; nil for the input
--              of a repetition

local lists = require("base.lists")
local ops = require("network.graph.ops")
local recurrence = require("network.graph.recurrence")

local M = {}

-- The fields of a backward list's entry (backward.lua) that hold the buffers that the entry writes.
local WRITTEN_FIELDS = { "to", "dbranch", "dq", "dkv", "dcontribution" }

-- The buffers of gradients that an entry of a backward list writes. In self-attention dkv is dq, and is listed once.
function M.list_written(entry)
  return lists.map(WRITTEN_FIELDS, function(field)
    return not (field == "dkv" and entry.dkv == entry.dq) and entry[field] or nil
  end)
end

-- The name of a buffer that values of one width and one stream share: STREAM_name_width.
--   STREAM_   is left out for the first stream, or if `name` contains this text, as dtarget_x does
--   _width    is left out for the model's width
function M.name_for_stream(name, value)
  local prefix = value.stream.name .. "_"
  local stream = value.stream.index > 0 and not name:find(prefix, 1, true) and prefix or ""
  local width = value.width.text ~= "WIDTH" and "_" .. value.width.text:lower():gsub("%W+", "_") or ""
  return stream .. name .. width
end

-- The set of the values that a backward list reads.
function M.find_read_values(backward)
  local values = {}
  for _, entry in ipairs(backward) do
    local op = entry.op
    if entry.kind == "weight_grad" then
      values[entry.x] = true
    elseif entry.kind == "input_grad" and entry.rectified_value then
      values[entry.rectified_value] = true
    elseif entry.kind == "relu_grad" or entry.kind == "recur_grad" then
      values[op.out] = true
    elseif op and entry.kind == op.kind .. "_grad" and op.definition.choose_kernel then -- an activation or a gate
      values[op.x] = true
    elseif entry.kind == "attention_grad" then
      lists.update(values, lists.to_set(lists.append(ops.list_read(op), { op.out })))
    end
  end
  return values
end

-- Returns a function that appends a buffer to a list, unless this function has already appended one of this name.
local function make_adder(list)
  local used_names = {}
  return function(buffer)
    local name = buffer.name or buffer.family.name
    if not used_names[name] then
      used_names[name] = true
      list[#list + 1] = buffer
    end
  end
end

-- A buffer of rows for a value or a gradient.
--   value    a table with the buffer's name, width and stream
--   fields   the fields of the buffer that differ from the defaults, or nil
function M.make_rows(value, writer, fields)
  return lists.merge({ name = value.name, form = "rows", width = value.width, stream = value.stream, training = false,
    comment = value.comment, is_read_backward = false, writer = writer }, fields or {})
end

-- Returns scopes[scope] of the output; adds the scope's other buffers to the workspace. Buffers are in the order of
-- their first writers. Carried values have no buffer of their own (scope_lists.lua).
--   add_shared          a function that adds a buffer to the workspace
--   evaluates_dropout   whether evaluation applies dropout, so that masks also exist in evaluation
local function collect_buffers(scope, forward, backward, add_shared, evaluates_dropout)
  local read_values, state_buffers, masks = M.find_read_values(backward), {}, {}
  local is_network = scope.parent == nil
  local add_stored = make_adder(state_buffers)
  if scope.input_value and read_values[scope.input_value] then
    add_stored(M.make_rows(scope.input_value, nil, { training = true, is_read_backward = true }))
  end
  if scope.has_pass_losses then
    add_stored(M.make_rows(lists.merge(scope.input_value, { name = "loss_gradient" }), nil,
      { training = true, is_read_backward = true }))
  end
  for _, op in ipairs(forward) do
    if op.norm then -- the norm saves these numbers for its backward pass
      local stream = (op.x or op.residual).stream
      add_stored({ name = op.name .. "_xhat", form = "rows", width = op.out.width, stream = stream,
        is_read_backward = true, writer = op })
      add_stored({ name = op.name .. "_rstd", form = "row", stream = stream, is_read_backward = true, writer = op })
    end
    if op.mask then
      masks[#masks + 1] = { name = op.mask, form = "mask", width = op.out.width, stream = op.out.stream,
        training = not evaluates_dropout, comment = "0 or -1", is_read_backward = true, writer = op }
    end
    for _, value in ipairs(ops.list_results(op)) do
      if value ~= scope.output_value and not value.carried and op.kind ~= "classify" then
        local add_buffer = read_values[value] and not is_network and add_stored or add_shared
        add_buffer(M.make_rows(value, op, { is_read_backward = read_values[value] }))
      end
    end
    for _, buffer in ipairs(op.kind == "recur" and recurrence.list_buffers(op) or {}) do
      add_stored(lists.merge({ stream = op.out.stream, training = false,
        is_read_backward = buffer.form == "steps", writer = op }, buffer))
    end
    if op.kind == "attention" then
      state_buffers[#state_buffers + 1] = { form = "family", family = op.family, is_read_backward = true, writer = op }
    end
  end
  for _, mask in ipairs(masks) do
    add_stored(mask)
  end
  return { state_buffers = state_buffers, read_backward = read_values }
end

-- Derives the output of this module. evaluates_dropout: whether evaluation applies dropout.
function M.derive(net, lists_by_scope, evaluates_dropout)
  local workspace, scopes = {}, {}
  local add_shared = make_adder(workspace)
  for _, block in ipairs(net.scopes) do
    local output = block.output_value
    add_shared(M.make_rows({ name = M.name_for_stream("output", output), width = output.width, stream = output.stream,
      comment = "output of the last layer" }, block.result.op))
  end
  for _, scope in ipairs(lists_by_scope.order) do
    local forward, backward = lists_by_scope[scope].forward, lists_by_scope[scope].backward
    scopes[scope] = collect_buffers(scope, forward, backward, add_shared, evaluates_dropout)
  end
  for _, buffer in ipairs(scopes[net].state_buffers) do -- the network is not repeated, so its buffers exist once
    add_shared(buffer)
  end
  scopes[net].state_buffers = {}
  for i = #lists_by_scope.order, 1, -1 do -- gradients, in the order in which the backward lists first write them
    for _, entry in ipairs(lists_by_scope[lists_by_scope.order[i]].backward) do
      for _, buffer in ipairs(M.list_written(entry)) do
        add_shared(M.make_rows(buffer, entry, { training = true }))
      end
    end
  end
  return { scopes = scopes, workspace = workspace }
end

return M
