-- The lists of a wide model, cut into launches on the GPU: a library computes products over all tokens of a batch, and
-- the work between two products is one phase of a kernel.
--
-- Input: entries { kind, one, of_backward } in order, where `one` is an operation, or an entry of a backward list; the
-- name of the block, or false; adds_bias(op), whether a product adds its bias itself. Output: a list of launches in
-- order, each in one of these forms:
--   { product, entry }   product: "forward", or "weight" or "input" for the gradient of these; a forward product with
--                        a bias also has bias = { phase, ops }, for libraries that do not add biases and apply relu
--   { block, entry }     all launches of a block, repetition by repetition
--   { phase, ops }       phase: the phase's name; ops: its entries
-- Biases and relu are part of forward products, since libraries round as Longhand does: the sum first, then the bias.
-- Other activations are not, since the library's elementary functions differ from Longhand's. The gradient of a bias is
-- a separate operation before the product that reads the same rows, since its bits depend on the order of sums. The
-- gradient of relu is always in a phase that exists anyway, so that fusing it would save no launch.

local M = {}

local List = {}
List.__index = List

-- Adds an entry to the last phase; after a product or a block, a new phase begins.
function List:add(kind, entry)
  local last = self[#self]
  if not last or not last.ops then
    last = { ops = {} }
    self[#self + 1] = last
  end
  table.insert(last.ops, { kind = kind, one = entry.one, of_backward = entry.of_backward })
end

-- Functions, by the kind of an entry, that append the launches of an entry with a product.
local adders = {}

function adders.product(list, entry, adds_bias)
  list[#list + 1] = { product = "forward", entry = entry,
    bias = adds_bias(entry.one) and { ops = { { kind = "add_bias", one = entry.one } } } or nil }
end

function adders.weight_grad(list, entry, adds_bias)
  if adds_bias(entry.one.op) then
    list:add("bias_grad", entry)
  end
  list[#list + 1] = { product = "weight", entry = entry }
end

function adders.input_grad(list, entry)
  list[#list + 1] = { product = "input", entry = entry }
  if entry.one.relu then
    list:add("rectify_grad", entry)
  end
end

-- The name of a phase: a phase with forward operations is named after the norm or the result of the last one, a
-- backward phase after the value whose gradient comes first.
local function choose_phase_name(ops)
  local last_forward
  for _, entry in ipairs(ops) do
    last_forward = not entry.of_backward and entry.one or last_forward
  end
  local first = ops[1].one
  return last_forward and (last_forward.name or last_forward.out.name) or (ops[1].kind == "rectify_grad"
    and first.relu.name or first.op and (first.op.name or first.op.out.name) or first.to.name) .. "_back"
end

-- Names a phase; a repeated name gets a number. counts: name -> the number of phases with this name so far.
local function name_phase(phase, block_name, counts)
  local prefix = block_name and block_name:upper() .. "_" or ""
  local name = ("PHASE_%s%s"):format(prefix, choose_phase_name(phase.ops):upper())
  counts[name] = (counts[name] or 0) + 1
  phase.phase = counts[name] > 1 and name .. "_" .. counts[name] or name
end

function M.cut(entries, block_name, adds_bias)
  local list, counts = setmetatable({}, List), {}
  for _, entry in ipairs(entries) do
    if adders[entry.kind] then
      adders[entry.kind](list, entry, adds_bias)
    elseif entry.kind == "block" or entry.kind == "block_grad" then
      list[#list + 1] = { block = entry.one.block or entry.one.op.block, entry = entry }
    else
      list:add(entry.kind, entry)
    end
  end
  for _, launch in ipairs(list) do
    local phase = launch.ops and launch or launch.bias
    if phase then
      name_phase(phase, block_name, counts)
    end
  end
  return list
end

return M
