-- Finds chains of two products in lists of device code. The operations of a chain:
--   a product
--   an activation or a gate, which reads the product's result and makes the hidden values
--   a second product, the only reader of the hidden values
-- One function computes a chain, so the second product reads the hidden values from shared memory.
--
-- Input: the entries { kind, item, is_backward } of a block's forward and backward lists (cuda_lists.lua), and
--   stores_operands   whether operands of products are stored in global memory (warp_products.lua). Then hidden values
--                     and their gradients need no other buffer
-- Output: two new lists, in which an entry of kind "chain" or "chain_grad" replaces the entries of two products; and
--   { values, gradients }   the sets of the names of buffers that chains make unnecessary
-- The field `item` of the new entries:
--
--   chain
--     first       the first product
--     operation   the operation between the products; nil if relu is a part of the first product
--     last        the second product
--     x           the input of the first product
--     sum         the result of the first product, if the gradient of the activation reads this result; else false.
--                 The gradient of relu reads `hidden` instead
--     hidden      the values after the operation
--     out         the result of the second product
--     kernel      the activation: "relu", or a name K with functions K_real and K_slope in kernels/cuda/activations.cu
--     is_gated    whether it is the activation of a gate
--   chain_grad; after it comes the entry for the gradient of the first product's weight, which reads dhidden
--     op          the chain
--     dy          the buffer of the gradient of `out`
--     dhidden     the buffer of the gradient of the first product's result, before the activation
--     to          the buffer of the gradient of x
--     is_added    whether the result is added to the gradients of x that `to` already has
--
-- Two products are not a chain if dropout applies to the hidden values, if other operations read the hidden values, or
-- if the entries of the backward pass have another order.

local buffers = require("network.lists.buffers")
local fuse = require("network.lists.fuse")
local lists = require("base.lists")

local M = {}

-- The kinds of operations that may stand between the two products.
local OPERATIONS = { activation = true, gate = true }

-- Finds the activation or gate after the product at index i. Three results, or none:
--   its kernel
--   its operation, nil if relu is a part of the product
--   the index at which the second product of a chain would be
local function find_operation(list, i)
  local product, next_op = list[i].item, list[i + 1] and list[i + 1].item
  if product.has_relu then
    return "relu", nil, i + 1
  elseif next_op and OPERATIONS[next_op.kind] and next_op.x == product.out and not next_op.dropout then
    return next_op.activation, next_op, i + 2
  end
end

-- The chain that begins at index i of a forward list, and the index of its last entry; nil if none begins there.
local function find_chain(list, i, readers)
  local first_op = list[i].item
  if list[i].kind ~= "product" or first_op.dropout then
    return nil
  end
  local kernel, operation, last_index = find_operation(list, i)
  local last_entry = kernel and list[last_index]
  local last_op = last_entry and last_entry.kind == "product" and last_entry.item
  local hidden, is_gated = operation and operation.out or first_op.out, operation ~= nil and operation.kind == "gate"
  local gradient_reads_sum = kernel ~= "relu" or is_gated
  if last_op and last_op.x == hidden and #readers[hidden] == 1 and #readers[first_op.out] == 1 then
    return { kind = "chain", first = first_op, operation = operation, last = last_op, kernel = kernel, x = first_op.x,
      hidden = hidden, sum = gradient_reads_sum and first_op.out, is_gated = is_gated, out = last_op.out }, last_index
  end
end

-- Whether an entry is of a kind and belongs to an operation.
local function is_gradient(entry, kind, op)
  return entry ~= nil and entry.kind == kind and entry.item.op == op
end

-- Finds a chain's gradient at index i of a backward list. Three results; nil if the gradient does not begin there:
--   the item of kind "chain_grad"
--   the entry for the gradient of the first product's weight
--   the index of the last replaced entry
local function find_gradient(list, i, chain)
  local hidden_grad, operation = list[i].item, chain.operation
  if not is_gradient(list[i], "input_grad", chain.last) or hidden_grad.is_added
    or not (hidden_grad.rectified_value or operation) then
    return nil
  end
  local sum_index = i + (operation and 1 or 0) -- the entry that writes the gradient of the first product's result
  local weight_grad, input_grad = list[sum_index + 1], list[sum_index + 2]
  if (not operation or is_gradient(list[sum_index], operation.kind .. "_grad", operation))
    and is_gradient(weight_grad, "weight_grad", chain.first)
    and is_gradient(input_grad, "input_grad", chain.first) then
    return { kind = "chain_grad", op = chain, dy = hidden_grad.dy, dhidden = list[sum_index].item.to,
      to = input_grad.item.to, is_added = input_grad.item.is_added }, weight_grad, sum_index + 2
  end
end

-- The index at which the gradient of a chain begins in a backward list; nil if its entries are in another order.
local function find_gradient_index(list, chain)
  for i in ipairs(list) do
    if find_gradient(list, i, chain) then
      return i
    end
  end
end

-- Returns the output of this module.
function M.chain(forward, backward, stores_operands)
  local readers = fuse.find_readers(lists.map(forward, function(entry)
    local repeats_operation = entry.kind == "drop" -- the operation of the entry before
    return not repeats_operation and entry.item or nil
  end))
  -- chains_by_index: index in `backward` at which a chain's gradient begins -> the chain
  local new_forward, new_backward, chains_by_index, i = {}, {}, {}, 1
  local unused = { values = {}, gradients = {} }
  while i <= #forward do
    local chain, last_index = find_chain(forward, i, readers)
    local gradient_index = chain and find_gradient_index(backward, chain)
    if gradient_index then
      chains_by_index[gradient_index] = chain
      if chain.operation then
        unused.gradients[backward[gradient_index].item.to.name] = true
        unused.values[chain.first.out.name] = not chain.sum or nil
      end
      if stores_operands then
        unused.gradients[find_gradient(backward, gradient_index, chain).dhidden.name] = true
        unused.values[chain.hidden.name] = true
      end
    end
    new_forward[#new_forward + 1] = gradient_index and { kind = "chain", item = chain, is_backward = false }
      or forward[i]
    i = (gradient_index and last_index or i) + 1
  end
  i = 1
  while i <= #backward do
    if chains_by_index[i] then
      local chain_grad, weight_grad, last_index = find_gradient(backward, i, chains_by_index[i])
      lists.append(new_backward, { { kind = "chain_grad", item = chain_grad, is_backward = true }, weight_grad })
      i = last_index
    else
      new_backward[#new_backward + 1] = backward[i]
    end
    i = i + 1
  end
  local written_buffers = lists.collect(new_backward, function(entry) return buffers.list_written(entry.item) end)
  for _, buffer in ipairs(written_buffers) do
    unused.gradients[buffer.name] = nil
  end
  return new_forward, new_backward, unused
end

return M
