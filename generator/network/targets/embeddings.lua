-- Names of the embeddings of a network in generated code, on both targets.
--
-- Input: a network (builder.lua); for M.name_routine also one of its operations of kind "embed". Output: names of
-- functions and constants, such as "embed_source" and "EMBEDDING_SCALE". A stream may be embedded more than once, each
-- time with a scale of its own.

local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

-- The name of an embedding's functions: "embed", with the stream's name if there are several streams, and with a number
-- from the second embedding of a stream on.
function M.name_routine(net, op)
  local number = 0
  for _, candidate in ipairs(ops.find_all(net, "embed")) do
    number = number + (candidate.stream == op.stream and 1 or 0)
    if candidate == op then
      break
    end
  end
  return "embed" .. (net.streams[2] and "_" .. op.stream.name or "") .. (number > 1 and "_" .. number or "")
end

-- The constants by which vectors of tokens are multiplied: { name, value }, each value once. Embeddings by a linear map
-- have no such constant.
function M.list_scales(net)
  local scales, listed_values = {}, {}
  for _, op in ipairs(ops.find_all(net, "embed")) do
    local value = op.p.kind ~= "linear" and (op.scale or 1)
    if value and not listed_values[value] then
      listed_values[value] = true
      scales[#scales + 1] = { name = "EMBEDDING_SCALE" .. (#scales > 0 and "_" .. #scales + 1 or ""), value = value }
    end
  end
  return scales
end

-- The name of the constant by which an embedding multiplies its vectors, or false.
local function get_scale(net, op)
  return op.p.kind ~= "linear" and lists.any(M.list_scales(net), function(scale)
    return scale.value == (op.scale or 1) and scale.name
  end)
end

-- The embedding functions, each with the fields that make_fields(op, i) returns for the operation and its index from 1,
-- and with fields for both targets:
--   number     the index of the embedding, from 0
--   routine    the name of the function
--   vectors    the name of the parameter
--   scale      the name of the constant by which vectors are multiplied, or false
--   additive   the encoding that is added to the vectors (facets/additive.lua)
--   dropout    the name of its dropout, or false
function M.list_functions(net, make_fields)
  return lists.map(ops.find_all(net, "embed"), function(op, i)
    return lists.merge(make_fields(op, i), { number = i - 1, routine = M.name_routine(net, op), vectors = op.p.name,
      scale = get_scale(net, op), additive = op.encoding or { kind = "none", frozen = false },
      dropout = op.dropout and op.dropout.name or false })
  end)
end

return M
