-- Names of the embeddings of a network in generated code, on both targets.
--
-- Input: a network (builder.lua), an operation of it that embeds. A stream may be embedded more than once, each time
-- with a scale of its own.

local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

-- The name of its functions: after its stream, where there are several; a stream's second one has a number.
function M.routine(net, op)
  local number = 0
  for _, other in ipairs(ops.of_kind(net, "embed")) do
    number = number + (other.stream == op.stream and 1 or 0)
    if other == op then
      break
    end
  end
  return "embed" .. (net.streams[2] and "_" .. op.stream.name or "") .. (number > 1 and "_" .. number or "")
end

-- Factors of the vectors of tokens: { name, value }, each number once; none where a linear map makes them.
function M.scales(net)
  local list, known = {}, {}
  for _, op in ipairs(ops.of_kind(net, "embed")) do
    local value = op.p.kind ~= "linear" and (op.scale or 1)
    if value and not known[value] then
      known[value] = { name = "EMBEDDING_SCALE" .. (#list > 0 and "_" .. #list + 1 or ""), value = value }
      list[#list + 1] = known[value]
    end
  end
  return list
end

-- The name of what this one's are multiplied by, or false.
local function scale_of(net, op)
  return op.p.kind ~= "linear" and lists.any(M.scales(net), function(scale)
    return scale.value == (op.scale or 1) and scale.name
  end)
end

-- The functions that embed a stream each, as `more` has them of (operation, its number), with what both targets know:
-- number, routine, vectors (the parameter), scale, additive (what is added), drops.
function M.functions(net, more)
  return lists.map(ops.of_kind(net, "embed"), function(op, i)
    local one = more(op, i)
    one.number, one.routine, one.vectors, one.scale = i - 1, M.routine(net, op), op.p.name, scale_of(net, op)
    one.additive, one.drops = op.encoding or { kind = "none" }, op.dropout and op.dropout.name or false
    return one
  end)
end

return M
