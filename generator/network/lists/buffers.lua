-- The buffer of each value: stored by a layer for its backward pass, or shared by all layers.
--
-- Input: a network (builder.lua), and for each scope its forward list, and its backward list with buffers of gradients.
-- Output: scopes, scope -> { kept, read }; kept: the buffers of each repetition of a block (rows of values, masks,
-- numbers of norms and attention), empty for the network; read: the set of the values that the backward list reads; and
-- workspace, the buffers that exist once. A buffer is { name, form, width, stream, training, about, kept, writer }:
--
--   form       "rows": [rows][width]; "row": [rows], one number each; "keep": a mask of [rows][width]; "family": what
--              an attention stores, with `family` instead of the name; "vocabulary" (cpu_rows.lua): [symbols][width]
--   training   the buffer exists only in training
--   kept       the backward pass reads the buffer
--   writer     its first writer: an operation of the forward list, or an entry of the backward list; nil for the input
--              of a repetition
--
-- A block's value that its backward list reads has a buffer for each repetition in training, and one for all in
-- evaluation. All other values share buffers by name (scope_lists.lua prevents conflicts).

local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

local GRADIENTS = { "to", "dbranch", "dq", "dkv", "dcontribution" }

-- The buffers of gradients that an entry of a backward list writes, each once.
function M.list_written(b)
  return lists.map(GRADIENTS, function(role) return not (role == "dkv" and b.dkv == b.dq) and b[role] or nil end)
end

-- The name of the residual stream's buffer, which a value shares with others of its width and stream. The name that is
-- passed may contain the stream already.
function M.name_for_stream(name, value)
  local prefix = value.stream.name .. "_"
  local stream = value.stream.index > 0 and not name:find(prefix, 1, true) and prefix or ""
  local width = value.width.text ~= "WIDTH" and "_" .. value.width.text:lower():gsub("%W+", "_") or ""
  return stream .. name .. width
end

-- The set of the values that a backward list reads.
function M.find_read(backward)
  local read = {}
  for _, b in ipairs(backward) do
    local op = b.op
    if b.kind == "weight_grad" then
      read[b.x] = true
    elseif b.kind == "input_grad" and b.relu then
      read[b.relu] = true
    elseif b.kind == "relu_grad" then
      read[op.out] = true
    elseif op and b.kind == op.kind .. "_grad" and op.about.kernel then
      read[op.x] = true
    elseif b.kind == "attention_grad" then
      lists.update(read, lists.to_set(lists.append(ops.list_read(op), { op.out })))
    end
  end
  return read
end

local function make_adder(list)
  local known = {}
  return function(buffer)
    local name = buffer.name or buffer.family.name
    if not known[name] then
      known[name] = buffer
      list[#list + 1] = buffer
    end
  end
end

-- A buffer of rows, of a value or of a gradient; `value` has its name, width and stream.
function M.make_rows(value, writer, more)
  return lists.merge({ name = value.name, form = "rows", width = value.width, stream = value.stream, training = false,
    about = value.about, kept = false, writer = writer }, more or {})
end

-- Collects the buffers of one scope: kept buffers and buffers of the workspace, each in the order of their first
-- writers. Values between blocks (`carried`) have no buffer here: cpu_names.lua and cuda_records.lua give their places.
-- add: a function that adds a buffer to the workspace. evaluates: evaluation applies dropout, so it has masks as well.
local function collect(scope, forward, backward, add, evaluates)
  local read, kept, masks = M.find_read(backward), {}, {}
  local keep = make_adder(kept)
  if scope.entry and read[scope.entry] then
    keep(M.make_rows(scope.entry, nil, { training = true, kept = true }))
  end
  for _, op in ipairs(forward) do
    if op.norm then -- the norm saves these numbers for its backward pass
      local stream = (op.x or op.residual).stream
      keep({ name = op.name .. "_xhat", form = "rows", width = op.out.width, stream = stream, kept = true,
        writer = op })
      keep({ name = op.name .. "_rstd", form = "row", stream = stream, kept = true, writer = op })
    end
    if op.keep then
      masks[#masks + 1] = { name = op.keep, form = "keep", width = op.out.width, stream = op.out.stream,
        training = not evaluates, about = "0 or -1", kept = true, writer = op }
    end
    for _, value in ipairs(ops.list_results(op)) do
      if value ~= scope.last and not value.carried and op.kind ~= "classify" then
        local put = read[value] and scope.entry and keep or add
        put(M.make_rows(value, op, { kept = read[value] }))
      end
    end
    if op.kind == "attention" then
      kept[#kept + 1] = { form = "family", family = op.family, kept = true, writer = op }
    end
  end
  for _, mask in ipairs(masks) do
    keep(mask)
  end
  return { kept = kept, read = read }
end

-- executed: scope -> { forward, backward }. evaluates: evaluation applies dropout.
function M.derive(net, executed, evaluates)
  local workspace, by_scope = {}, {}
  local add = make_adder(workspace)
  for _, block in ipairs(net.scopes) do
    local last = block.last
    add(M.make_rows({ name = M.name_for_stream("output", last), width = last.width, stream = last.stream,
      about = "of the last layer" }, block.result.op))
  end
  for _, scope in ipairs(executed.order) do
    by_scope[scope] = collect(scope, executed[scope].forward, executed[scope].backward, add, evaluates)
  end
  for _, b in ipairs(by_scope[net].kept) do -- the network is not repeated, so its buffers exist once
    add(b)
  end
  by_scope[net].kept = {}
  for i = #executed.order, 1, -1 do -- gradients, in the order in which the backward lists first write them
    for _, b in ipairs(executed[executed.order[i]].backward) do
      for _, buffer in ipairs(M.list_written(b)) do
        add(M.make_rows(buffer, b, { training = true }))
      end
    end
  end
  return { scopes = by_scope, workspace = workspace }
end

return M
