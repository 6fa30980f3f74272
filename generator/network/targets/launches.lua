-- A wide model's lists, cut into launches: a library computes its products, over all tokens of a batch, and the work
-- between two products is one phase of a kernel.
--
-- Input: entries { kind, one, of_backward } in order; one: an operation, or an entry of a backward list; the name of
-- the block, or false; adds_bias(op), whether a product adds its bias itself. Output: launches in order, each one of
--   { product, entry }   product: "forward", "weight" or "input" (gradients of these); a forward product with
--                        a bias also has bias = { phase, ops }, for libraries that do not add biases and rectify
--   { block, entry }     all launches of a block, repetition by repetition
--   { phase, ops }       phase: the phase's name; ops: its entries
-- Biases and rectifiers are part of forward products, since libraries round as we do: the sum first, then the bias.
-- Other activations are not, since our elementary functions differ. The gradient of a bias is a separate operation
-- before the product that reads the same rows, since its bits depend on our order of sums. The gradient of a rectifier
-- is always in a phase that exists anyway, so that fusing it would save no launch.

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

local launch = {}

function launch.product(list, entry, adds_bias)
  list[#list + 1] = { product = "forward", entry = entry,
    bias = adds_bias(entry.one) and { ops = { { kind = "add_bias", one = entry.one } } } or nil }
end

function launch.weight_grad(list, entry, adds_bias)
  if adds_bias(entry.one.op) then
    list:add("bias_grad", entry)
  end
  list[#list + 1] = { product = "weight", entry = entry }
end

function launch.input_grad(list, entry)
  list[#list + 1] = { product = "input", entry = entry }
  if entry.one.relu then
    list:add("rectify_grad", entry)
  end
end

-- The name of a phase: a phase with forward operations is named after the norm or the result of the last one, a
-- backward phase after the value whose gradient comes first.
local function choose_phase_name(ops)
  local forward
  for _, op in ipairs(ops) do
    forward = not op.of_backward and op.one or forward
  end
  local first = ops[1].one
  return forward and (forward.name or forward.out.name) or (ops[1].kind == "rectify_grad" and first.relu.name
    or first.op and (first.op.name or first.op.out.name) or first.to.name) .. "_back"
end

-- Names a phase; a repeated name gets a number.
local function name_phase(phase, scope, known)
  local text = ("PHASE_%s%s"):format(scope and scope:upper() .. "_" or "", choose_phase_name(phase.ops):upper())
  known[text] = (known[text] or 0) + 1
  phase.phase = known[text] > 1 and text .. "_" .. known[text] or text
end

function M.cut(entries, scope, adds_bias)
  local list, known = setmetatable({}, List), {}
  for _, entry in ipairs(entries) do
    if launch[entry.kind] then
      launch[entry.kind](list, entry, adds_bias)
    elseif entry.kind == "block" or entry.kind == "block_grad" then
      list[#list + 1] = { block = entry.one.block or entry.one.op.block, entry = entry }
    else
      list:add(entry.kind, entry)
    end
  end
  for _, made in ipairs(list) do
    local phase = made.ops and made or made.bias
    if phase then
      name_phase(phase, scope, known)
    end
  end
  return list
end

return M
