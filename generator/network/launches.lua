-- A wide model's lists, cut into launches: its products are a library's, over all tokens of a batch, and what lies
-- between two of them is one phase of a kernel.
--
-- Input: entries { kind, one, of_backward } in order (cuda.lua). Output: launches in order, each one of
--   { product, entry }   "forward", "weight" (its gradient), "input" (its gradient)
--   { block, entry }     all launches of a block, repetition by repetition
--   { phase, ops }       the phase's name; entries
-- Products lose what rides on them elsewhere: a bias and a rectifier become an operation behind the product, the
-- gradient of a bias one before it, as its sums are over what the product reads.

local M = {}

local List = {}
List.__index = List

function List:op(kind, entry)
  local last = self[#self]
  if not last or not last.ops then
    last = { ops = {} }
    self[#self + 1] = last
  end
  table.insert(last.ops, { kind = kind, one = entry.one, of_backward = entry.of_backward })
end

local function product(list, entry, adds_bias)
  local op = entry.one
  list[#list + 1] = { product = "forward", entry = entry }
  if adds_bias(op) then
    list:op("add_bias", entry)
  elseif op.relu then
    list:op("activation", { one = { activation = "relu", x = op.out, out = op.out } })
  end
end

local function weight_grad(list, entry, adds_bias)
  if adds_bias(entry.one.op) then
    list:op("bias_grad", entry)
  end
  list[#list + 1] = { product = "weight", entry = entry }
end

local function input_grad(list, entry)
  list[#list + 1] = { product = "input", entry = entry }
  if entry.one.relu then
    list:op("rectify_grad", entry)
  end
end

local CUTS = { product = product, weight_grad = weight_grad, input_grad = input_grad }

-- A phase of the way forward is called after what its last operation gives, one of the way back after the value whose
-- gradient it begins with.
local function name_of(ops)
  local forward
  for _, op in ipairs(ops) do
    forward = not op.of_backward and op.one or forward
  end
  local first = ops[1].one
  if forward then
    return forward.name or forward.out.name
  elseif ops[1].kind == "rectify_grad" then
    return first.relu.name .. "_back"
  end
  return (first.op and (first.op.name or first.op.out.name) or first.to.name) .. "_back"
end

function M.cut(entries, scope, adds_bias)
  local list, known = setmetatable({}, List), {}
  for _, entry in ipairs(entries) do
    if CUTS[entry.kind] then
      CUTS[entry.kind](list, entry, adds_bias)
    elseif entry.kind == "block" or entry.kind == "block_grad" then
      list[#list + 1] = { block = entry.one.block or entry.one.op.block, entry = entry }
    else
      list:op(entry.kind, entry)
    end
  end
  for _, launch in ipairs(list) do
    if launch.ops then
      local name = ("PHASE_%s%s"):format(scope and scope:upper() .. "_" or "", name_of(launch.ops):upper())
      known[name] = (known[name] or 0) + 1
      launch.phase = known[name] > 1 and name .. "_" .. known[name] or name
    end
  end
  return list
end

return M
