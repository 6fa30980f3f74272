-- Pairs of products in a chain: a product, an operation on each of its channels, and a product that alone reads the
-- result. In device code whose products are cut by warp, the second product takes hidden values from shared memory.
--
-- Input: the entries of a block's forward and backward lists (cuda_network.lua). Output: lists in which one entry
-- replaces those of a pair:
--
--   chain        first, last: the products; operation: the one between them, nil for a rectifier that is part of the
--                first product; x, hidden, out: their values, hidden after the operation; kernel: the activation,
--                either relu or a name K with K_real and K_slope in kernels/cuda/activations.cu; gated: K is the
--                activation of a gate; sum: values before the operation, or false if its gradient does not read them
--   chain_grad   op: the chain; dy, dhidden, to: gradients of out, of the first product's result, and of x; adds: `to`
--                already has other gradients of x. The first weights' gradient, which reads dhidden, comes later.
--
-- and { values, gradients }, the names of buffers that chains make unnecessary, name -> true: values before a
-- rectifier, whose gradient reads the values after it, and gradients of values after an operation. keeps (M.chain):
-- operands of products are stored in places of their own, so hidden values and their gradients have no buffer.
--
-- A pair stays two products if dropout applies to its hidden values, if other operations read these, or if its backward
-- pass has another order.

local buffers = require("network.lists.buffers")
local fuse = require("network.lists.fuse")
local lists = require("base.lists")

local M = {}

local OPERATIONS = { activation = true, gate = true }

-- The activation between two products: its kernel, the operation if it is not part of the first product, and the index
-- of the second product in the list.
local function find_operation(list, i)
  local first, after = list[i].one, list[i + 1] and list[i + 1].one
  if first.relu then
    return "relu", nil, i + 1
  elseif after and OPERATIONS[after.kind] and after.x == first.out and not after.dropout then
    return after.activation, after, i + 2
  end
end

-- The chain that begins with entry i of a forward list, and the index of its last entry; nil if none begins there.
local function find_chain(list, i, readers)
  local first = list[i].one
  if list[i].kind ~= "product" or first.dropout then
    return nil
  end
  local kernel, operation, n = find_operation(list, i)
  local last = kernel and list[n] and list[n].kind == "product" and list[n].one
  local hidden, gated = operation and operation.out or first.out, operation ~= nil and operation.kind == "gate"
  if last and last.x == hidden and #readers[hidden] == 1 and #readers[first.out] == 1 then
    return { kind = "chain", first = first, operation = operation, last = last, kernel = kernel, x = first.x,
      hidden = hidden, sum = (kernel ~= "relu" or gated) and first.out, gated = gated, out = last.out }, n
  end
end

local function is_gradient(entry, kind, op)
  return entry ~= nil and entry.kind == kind and entry.one.op == op
end

-- The backward pass of a chain that begins with entry i of a backward list: its record, the entry of the first weights'
-- gradient, and the index of the last entry; nil if none begins there.
local function find_gradient(list, i, chain)
  local second, operation = list[i].one, chain.operation
  if not is_gradient(list[i], "input_grad", chain.last) or second.adds or not (second.relu or operation) then
    return nil
  end
  local n = i + (operation and 1 or 0)
  local weights, inputs = list[n + 1], list[n + 2]
  if (n == i or is_gradient(list[n], operation.kind .. "_grad", operation))
    and is_gradient(weights, "weight_grad", chain.first) and is_gradient(inputs, "input_grad", chain.first) then
    return { kind = "chain_grad", op = chain, dy = second.dy, dhidden = list[n].one.to, to = inputs.one.to,
      adds = inputs.one.adds }, weights, n + 2
  end
end

-- The index of a chain's first entry in a backward list, if the entries form a chain there, too; otherwise nil.
local function find_index(list, chain)
  for i in ipairs(list) do
    if find_gradient(list, i, chain) then
      return i
    end
  end
end

-- The entries of a forward and a backward list with their chains, and the unused buffers.
function M.chain(forward, backward, keeps)
  local readers = fuse.find_readers(lists.map(forward, function(entry)
    return entry.kind ~= "drop" and entry.one or nil
  end))
  local made, made_back, chain_of, unused, i = {}, {}, {}, { values = {}, gradients = {} }, 1
  while i <= #forward do
    local chain, n = find_chain(forward, i, readers)
    local place = chain and find_index(backward, chain)
    if place then
      chain_of[place] = chain
      if chain.operation then
        unused.gradients[backward[place].one.to.name] = true
        unused.values[chain.first.out.name] = not chain.sum or nil
      end
      if keeps then
        unused.gradients[find_gradient(backward, place, chain).dhidden.name] = true
        unused.values[chain.hidden.name] = true
      end
    end
    made[#made + 1] = place and { kind = "chain", one = chain, of_backward = false } or forward[i]
    i = (place and n or i) + 1
  end
  i = 1
  while i <= #backward do
    if chain_of[i] then
      local chain, weights, n = find_gradient(backward, i, chain_of[i])
      lists.append(made_back, { { kind = "chain_grad", one = chain, of_backward = true }, weights })
      i = n
    else
      made_back[#made_back + 1] = backward[i]
    end
    i = i + 1
  end
  for _, buffer in ipairs(lists.collect(made_back, function(entry) return buffers.list_written(entry.one) end)) do
    unused.gradients[buffer.name] = nil
  end
  return made, made_back, unused
end

return M
