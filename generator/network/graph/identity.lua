-- The identity of a network: its operations, their order, and the values that they read. A checkpoint fits a network
-- only if their identities are equal, in addition to names and shapes of tensors.
--
-- Input: a network (builder.lua), unfused. Output: pure data: for the network and each of its blocks { title, times,
-- operations }. An operation is { kind, words that distinguish operations of the kind, parameters, operands }. An
-- operand is the number of the operation of its scope that made it, "input", or "external" and a number. Dropout is
-- left out, since it changes training, not the function. Names of values are left out: they name buffers.

local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

-- Words that distinguish operations of a kind.
local function words_of(op)
  local words = {}
  local function add(word)
    words[#words + 1] = word or nil
  end
  add(op.activation)
  add(op.norm)
  add(op.family and op.family.name)
  add(op.readout)
  add(op.tied and "tied")
  add(op.block and op.block.name)
  add(op.kind == "embed" and op.p.kind == "linear" and "linear")
  add(op.scale and ("scale %.9g"):format(op.scale))
  add(op.stream and op.stream.name)
  add(op.encoding and op.encoding.kind ~= "none" and op.encoding.kind)
  return table.concat(words, " ")
end

local function parameters_of(p)
  return not p and "" or p.kind == "weight" and table.concat(p.tensors, " ") or p.name
end

local function operands_of(op, numbers)
  return table.concat(lists.map(ops.operands(op), function(operand)
    return ("%s %s"):format(operand.role, numbers[operand.value])
  end), ", ")
end

local function scope_of(scope)
  local numbers, list = { [scope.entry or false] = "input" }, {}
  for i, value in ipairs(scope.externals) do
    numbers[value] = "external " .. i
  end
  for i, op in ipairs(scope.ops) do
    numbers[op.out] = tostring(i)
    list[i] = { op.kind, words_of(op), parameters_of(op.p), operands_of(op, numbers) }
  end
  return { scope.title, scope ~= scope.net and ("%d times %d"):format(scope.count, scope.loops) or "once", list }
end

function M.of(net)
  return lists.map(net.order, scope_of)
end

return M
