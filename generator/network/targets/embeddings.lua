-- Names of the embeddings of a network in generated code, on both targets.
--
-- Input: a network (builder.lua), one of its operations that embed a stream. A stream may be embedded more than once,
-- each time with its own scale.

local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

-- The name of an embedding's functions: with its stream, if there are several; numbered from the stream's second on.
function M.name_routine(net, op)
  local number = 0
  for _, other in ipairs(ops.find_all(net, "embed")) do
    number = number + (other.stream == op.stream and 1 or 0)
    if other == op then
      break
    end
  end
  return "embed" .. (net.streams[2] and "_" .. op.stream.name or "") .. (number > 1 and "_" .. number or "")
end

-- Factors of the vectors of tokens: { name, value }, each value once; a linear map has none.
function M.list_scales(net)
  local list, known = {}, {}
  for _, op in ipairs(ops.find_all(net, "embed")) do
    local value = op.p.kind ~= "linear" and (op.scale or 1)
    if value and not known[value] then
      known[value] = { name = "EMBEDDING_SCALE" .. (#list > 0 and "_" .. #list + 1 or ""), value = value }
      list[#list + 1] = known[value]
    end
  end
  return list
end

-- The name of an embedding's factor, or false.
local function get_scale(net, op)
  return op.p.kind ~= "linear" and lists.any(M.list_scales(net), function(scale)
    return scale.value == (op.scale or 1) and scale.name
  end)
end

-- The embedding functions, with fields for both targets: number (from 0), routine, vectors (the parameter), scale,
-- additive (the added encoding), drops; and with the fields that more(operation, its number) returns.
function M.list_functions(net, more)
  return lists.map(ops.find_all(net, "embed"), function(op, i)
    local one = more(op, i)
    one.number, one.routine, one.vectors, one.scale = i - 1, M.name_routine(net, op), op.p.name, get_scale(net, op)
    one.additive, one.drops = op.encoding or { kind = "none" }, op.dropout and op.dropout.name or false
    return one
  end)
end

return M
