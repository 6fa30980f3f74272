-- The identity of a network: its operations, their order, and the values that they read. A part of the model digest:
-- a checkpoint fits a network only if the network that it was saved from has the same identity.
--
-- Input: a network (builder.lua). Output: pure data, a list { title, times, operations } for each scope. times: "once",
-- or the number of sets of parameters and the number of loops, such as "5 times 1" or "5 times length". An operation
-- is a list of four texts:
--   1  its kind
--   2  words that distinguish operations of the kind, such as "relu" or "layer"
--   3  the names of tensors for a weight; the name of another parameter; "" without a parameter
--   4  its operands, each as a role and an origin. Origins:
--        "input"        the input of the block
--        "external 2"   the second of the values of the parent that the block reads
--        "2"            the result of the scope's second operation
-- The identity does not contain dropout, which has no parameters, and names of values, which only name buffers.

local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

-- Returns text 2 of an operation.
local function describe(op)
  local words = {
    op.activation or false,
    op.cell or false,
    op.norm or false,
    op.family and op.family.name or false,
    op.readout or false,
    op.class_table and "tied" or false,
    op.block and op.block.name or false,
    op.kind == "embed" and op.p.kind == "linear" and "linear",
    op.deviation and ("deviation %.9g"):format(op.deviation) or false,
    op.scale and ("scale %.9g"):format(op.scale) or false,
    op.stream and op.stream.name or false,
    op.encoding and op.encoding.kind ~= "none" and op.encoding.kind or false,
  }
  return table.concat(lists.filter(words, function(word) return word end), " ")
end

-- Returns text 3 of an operation. p: its parameter, or nil.
local function describe_parameter(p)
  if not p then
    return ""
  end
  return p.kind == "weight" and table.concat(p.tensors, " ") or p.name
end

local function identify_scope(scope)
  local origins, list = { [scope.input_value or false] = "input" }, {} -- origins: value -> its origin
  for i, value in ipairs(scope.externals) do
    origins[value] = "external " .. i
  end
  for i, op in ipairs(scope.ops) do
    origins[op.out] = tostring(i)
    local operands = lists.map(ops.list_operands(op), function(operand)
      return ("%s %s"):format(operand.role, origins[operand.value])
    end)
    list[i] = { op.kind, describe(op), describe_parameter(op.p), table.concat(operands, ", ") }
  end
  local times = "once"
  if scope ~= scope.net then
    times = ("%d times %s"):format(scope.count, scope.passes_by_length and "length" or scope.loops)
  end
  return { scope.title, times, list }
end

function M.identify(net)
  return lists.map(net.order, identify_scope)
end

return M
