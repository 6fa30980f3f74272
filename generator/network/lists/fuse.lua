-- Fuses neighbouring operations that one kernel computes.
--
-- Input: a scope's operations in order, and its result, nil for the network. Output: a new list; the graph is
-- unchanged. Of these fusions, the second and the third are made here:
--
--   product + bias            in the product itself: its operation has the bias from the start
--   product + bias + relu     in the product, if only the rectified value is read
--   sum + norm                if the norm is the next operation and reads the sum; the sum is stored, in `sum` of the
--                             fused operation, if it has other readers or is the scope's result
--   relu's gradient           into the input gradient of the only product that reads the rectified value (backward.lua)
--   q, k, v; gate and up      one product of several weights (attention.lua, feedforward.lua)

local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

-- Whether only `after` reads the result of `op`.
local function is_only_reader(readers, op, after)
  local list = readers[op.out]
  return #list == 1 and list[1] == after
end

-- Returns value -> the operations that read it, in order.
function M.find_readers(list)
  local readers = {}
  for _, op in ipairs(list) do
    for _, value in ipairs(ops.list_read(op)) do
      lists.append_to(readers, value, op)
    end
  end
  return readers
end

-- A product with a bias and a rectifier, which returns the rectified value; nil if the two cannot be fused.
local function fuse_relu(op, after, readers)
  if op.kind == "product" and op.p.bias and after.kind == "activation" and after.activation == "relu"
    and after.x == op.out and is_only_reader(readers, op, after) then
    return lists.merge(op, { relu = true, out = after.out, dropout = after.dropout, keep = after.keep,
      place = after.place })
  end
end

local function fuse_norm(op, after, readers, result)
  if op.kind == "add" and after.kind == "norm" and after.x == op.out then
    local alone = is_only_reader(readers, op, after) and op.out ~= result
    return lists.merge(op, { kind = "add_norm", norm = after.norm, p = after.p, name = after.name,
      sum = not alone and op.out or nil, out = after.out })
  end
end

function M.fuse(list, result)
  local readers, fused, i = M.find_readers(list), {}, 1
  while i <= #list do
    local op, after = list[i], list[i + 1]
    local pair = after and (fuse_relu(op, after, readers) or fuse_norm(op, after, readers, result))
    fused[#fused + 1] = pair or op
    i = i + (pair and 2 or 1)
  end
  return fused
end

return M
