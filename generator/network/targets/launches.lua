-- Cuts the lists of a wide model into launches on the GPU: a library computes each product over all tokens of a batch,
-- and the work between two products is one phase of a kernel. A phase is { name, entries }, the entries that one launch
-- computes.
--
-- Input: entries { kind, item, is_backward } in order (cuda_lists.lua); the name of the block, or false; adds_bias(op),
-- a function that returns whether a bias is added to the result of the product `op`. Output: a list of launches in
-- order, each in one of these forms:
--   { product, entry, phase }   a product. product: "forward" for a product of the forward pass, "weight" for the
--                        gradient of a weight, "input" for the gradient of an input. phase: if the
--                        library cannot add the bias of a forward product, the phase that adds the bias and applies
--                        relu; else nil
--   { block, entry }     all launches of a block, repetition by repetition
--   { phase }            a launch of one phase
--
-- Biases and relu are part of forward products, since libraries round as Longhand does: first the sum, then the sum
-- plus the bias. Other activations are not, since the library's elementary functions differ from Longhand's. The
-- gradient of a bias is a separate operation before the product that gives the gradient of the weight, since its bits
-- depend on the order of sums. The gradient of relu is computed in a phase that exists anyway, so fusing it with a
-- product would save no launch.

local M = {}

-- A list of launches.
local List = {}
List.__index = List

-- Adds an entry to the last phase; if the last launch is a product or a block, a new phase begins.
function List:add(kind, entry)
  local launch = self[#self]
  if not launch or launch.product or launch.block then
    launch = { phase = { entries = {} } }
    self[#self + 1] = launch
  end
  table.insert(launch.phase.entries, { kind = kind, item = entry.item, is_backward = entry.is_backward })
end

-- Kind of an entry that a product of the library computes -> the function that appends the entry's launches.
local adders = {}

function adders.product(list, entry, adds_bias)
  list[#list + 1] = { product = "forward", entry = entry,
    phase = adds_bias(entry.item) and { entries = { { kind = "add_bias", item = entry.item } } } or nil }
end

function adders.weight_grad(list, entry, adds_bias)
  if adds_bias(entry.item.op) then
    list:add("bias_grad", entry)
  end
  list[#list + 1] = { product = "weight", entry = entry }
end

function adders.input_grad(list, entry)
  list[#list + 1] = { product = "input", entry = entry }
  if entry.item.rectified_value then
    list:add("rectify_grad", entry)
  end
end

-- The last part of the name of a phase with these entries. A phase with forward operations is named after the last one:
-- after its norm, or else after its result. A phase without forward operations is named after the value whose gradient
-- its first entry computes or reads.
local function choose_phase_name(entries)
  local last_forward
  for _, entry in ipairs(entries) do
    last_forward = not entry.is_backward and entry.item or last_forward
  end
  if last_forward then
    return last_forward.name or last_forward.out.name
  end
  local item = entries[1].item
  local value_name = entries[1].kind == "rectify_grad" and item.rectified_value.name
    or item.op and (item.op.name or item.op.out.name) or item.to.name
  return value_name .. "_back"
end

-- Names a phase; a repeated name gets a number. counts: name -> the number of phases with this name so far.
local function name_phase(phase, block_name, counts)
  local prefix = block_name and block_name:upper() .. "_" or ""
  local name = ("PHASE_%s%s"):format(prefix, choose_phase_name(phase.entries):upper())
  counts[name] = (counts[name] or 0) + 1
  phase.name = counts[name] > 1 and name .. "_" .. counts[name] or name
end

function M.cut(entries, block_name, adds_bias)
  local launches, counts = setmetatable({}, List), {}
  for _, entry in ipairs(entries) do
    if adders[entry.kind] then
      adders[entry.kind](launches, entry, adds_bias)
    elseif entry.kind == "block" or entry.kind == "block_grad" then
      launches[#launches + 1] = { block = entry.item.block or entry.item.op.block, entry = entry }
    else
      launches:add(entry.kind, entry)
    end
  end
  for _, launch in ipairs(launches) do
    if launch.phase then
      name_phase(launch.phase, block_name, counts)
    end
  end
  return launches
end

return M
