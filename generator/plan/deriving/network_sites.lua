-- Lists the trace sites of a network, here only called sites. A trace site is a value that the forward pass can store
-- for traces: an activation (the result of an embedding, a recurrence or a layer) or the weights of an attention. The
-- sites have the order in which generated code stores the values (the argument `buffers` of trace_block).
--
-- Input of M.list: the network (builder.lua). Output, two results. The first is the list of sites, each with:
--   name          the name in traces
--   channels      the width of an activation; 0 for an attention
--   heads         the number of heads of an attention; 0 for an activation
--   query, key    the indices of the streams of its queries and keys; for an activation, the index of its stream twice
-- The second result, pass_sites, is false if all examples have the same number of passes. Otherwise it is the number of
-- sites of one pass, and the list ends with the sites of the first pass: later passes have no entries.

local M = {}

function M.list(net)
  local sites, pass_sites = {}, false
  local function add_activation(name, value)
    sites[#sites + 1] = { name = name, channels = value.width.count, heads = 0, query = value.stream.index,
      key = value.stream.index }
  end
  local function add_layer(block, path)
    for _, op in ipairs(block.ops) do
      if op.kind == "attention" then
        local name = (op.family.cross or op.is_named) and path .. "." .. op.family.name or path
        sites[#sites + 1] = { name = name, channels = 0, heads = op.family.heads, query = op.q.stream.index,
          key = op.kv.stream.index }
      end
    end
    add_activation(path .. ".output", block.output_value)
  end
  -- repetition: the index of the repetition of the scope, from 0
  local function add_repetition(scope, repetition)
    for _, op in ipairs(scope.ops) do
      if op.kind == "embed" or op.kind == "recur" then
        add_activation(op.out.name, op.out)
      end
      local block = op.kind == "block" and op.block
      local is_by_length = block and block.passes_by_length and scope == net
      local times, earlier_sites = is_by_length and block.count or block and block.times or 0, #sites
      for i = repetition * times, (repetition + 1) * times - 1 do
        if block.is_group then
          add_repetition(block, i)
        else
          add_layer(block, (block:get_path(i):gsub("%.$", "")))
        end
      end
      pass_sites = is_by_length and #sites - earlier_sites or pass_sites
    end
  end
  add_repetition(net, 0)
  return sites, pass_sites
end

return M
