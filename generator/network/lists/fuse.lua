-- Fuses neighbouring operations that one kernel computes.
--
-- Input: a scope's operations in order, and its result, nil for the network. Output: a new list in which one operation
-- replaces each fused pair. Generated code has five kinds of fused operations; this module makes the second and the
-- third kind:
--
--   product + bias            one operation of the graph already (builder.lua)
--   product + bias + relu     one operation with has_relu = true, if only relu reads the product
--   sum + norm                one operation of kind "add_norm", if the norm is the next operation and reads the sum.
--                             The field `sum` is the sum's value if other operations read this value, or if it is the
--                             scope's result; else nil
--   derivative of relu        computed as part of a product's input gradient, if this product alone reads the result of
--                             relu (backward.lua)
--   q, k, v; gate and up      one product of several weights in the graph already (attention.lua, feedforward.lua)

local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

-- Whether only `next_op` reads the result of `op`.
local function is_only_reader(readers, op, next_op)
  local result_readers = readers[op.out]
  return #result_readers == 1 and result_readers[1] == next_op
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

-- Fuses a product and the relu that follows it, if the product has a bias; nil if the two operations cannot be fused.
local function fuse_relu(op, next_op, readers)
  if op.kind == "product" and op.p.bias and next_op.kind == "activation" and next_op.activation == "relu"
    and next_op.x == op.out and is_only_reader(readers, op, next_op) then
    return lists.merge(op, { has_relu = true, out = next_op.out, dropout = next_op.dropout, mask = next_op.mask,
      dropout_number = next_op.dropout_number })
  end
end

-- Fuses a sum and the norm that follows it and reads it; nil if the two operations cannot be fused.
local function fuse_norm(op, next_op, readers, result)
  if op.kind == "add" and next_op.kind == "norm" and next_op.x == op.out then
    local reads_sum_alone = is_only_reader(readers, op, next_op) and op.out ~= result
    return lists.merge(op, { kind = "add_norm", norm = next_op.norm, p = next_op.p, name = next_op.name,
      sum = not reads_sum_alone and op.out or nil, out = next_op.out })
  end
end

function M.fuse(list, result)
  local readers, fused_list, i = M.find_readers(list), {}, 1
  while i <= #list do
    local op, next_op = list[i], list[i + 1]
    local fused_pair = next_op and (fuse_relu(op, next_op, readers) or fuse_norm(op, next_op, readers, result))
    fused_list[#fused_list + 1] = fused_pair or op
    i = i + (fused_pair and 2 or 1)
  end
  return fused_list
end

return M
