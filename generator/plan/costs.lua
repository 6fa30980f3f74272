-- What a step costs: floating-point operations and memory, for `plan` and for bench.
--
-- Input: a plan with its network; that network (network/builder.lua); the task's header (lengths as formulas). Output,
-- into the plan:
--   flops           factors for the generated formulas; flops_per_step; and `flops` of a whole step, all repetitions,
--                   mean over the training lengths, into the operations of plan.network (forward and backward) and of
--                   plan.passes (each its own), there also kept_bytes and scratch_bytes
--   vector_bytes    of all parameters; workspace_bytes of a thread; memory_bytes of a training with two threads, at the
--                   widest level (memory.lua)
--   largest_block   { bytes, tokens, sequences }: the block that a workspace has room for
--   longest_training, mean_tokens, mean_pairs   of the training lengths
-- Counts are nominal: two operations per multiply-add, attention T^2 pairs by width twice, whatever its mask, backward
-- twice the forward, without the output layer.

local memory = require("plan.memory")
local outline = require("network.outline")
local tasks = require("spec.tasks")

local M = {}

-- Tokens of the longest sequence, and the means of T and T^2 over the training lengths; of finite data the longest that
-- is allowed.
function M.token_counts(lengths, facts)
  if facts.data then
    local T = tasks.most_tokens(facts)
    return T, T, T * T
  end
  local longest, sum, squares = 0, 0, 0
  local all = tasks.lengths(lengths)
  for _, n in ipairs(all) do
    local T = tasks.tokens(facts, n)
    longest = math.max(longest, T)
    sum, squares = sum + T, squares + T * T
  end
  return longest, sum / #all, squares / #all
end

-- Operations of one sequence of T tokens, forward.
function M.forward(plan, T)
  return 2 * plan.flops.weights * T + plan.flops.pairs * T * T
end

-- Operations of a step at the mean training length, into every operation of a list; their sum. factor: how many times
-- what the list says.
local function add_flops(plan, list, times, factor)
  local batch, tokens, squares = plan.resolved.train.batch, plan.mean_tokens, plan.mean_pairs
  local sum = 0
  for _, operation in ipairs(list) do
    local flops = operation.per_token * tokens + operation.per_pair * squares
    operation.flops = math.floor(factor * flops * batch * times + 0.5)
    sum = sum + operation.flops
  end
  return sum
end

-- Into every operation of the passes: kept_bytes and scratch_bytes of what it is the first to write, in a thread's
-- largest block, over all repetitions. What belongs to no operation alone is the attention's gradient's
-- and the embedding's.
local function add_bytes(plan)
  local block, kept, scratch = plan.largest_block, {}, {}
  for _, room in ipairs(memory.rooms(plan, block.tokens, block.sequences)) do
    local to, key = room.kept and kept or scratch, (room.block or "") .. " " .. room.name
    to[key] = (to[key] or 0) + room.bytes
  end
  local function add(scope, operation)
    local sums = { kept = 0, scratch = 0 }
    for _, name in ipairs(operation.buffers) do
      local own, shared = scope.name .. " " .. name, " " .. name
      sums.kept = sums.kept + (kept[own] or kept[shared] or 0)
      sums.scratch = sums.scratch + (kept[own] and 0 or scratch[shared] or 0)
    end
    operation.kept_bytes, operation.scratch_bytes = sums.kept, sums.scratch
  end
  for _, scope in ipairs(plan.passes) do
    for _, list in ipairs({ scope.forward, scope.backward }) do
      for _, operation in ipairs(list) do
        add(scope, operation)
      end
    end
  end
end

-- Tokens of the sequences that training can have.
local function training_tokens(plan, facts)
  local list = {}
  if facts.data then
    for T = 1, plan.longest_training do
      list[T] = T
    end
    return list
  end
  for i, n in ipairs(tasks.lengths(plan.resolved.train.lengths)) do
    list[i] = tasks.tokens(facts, n)
  end
  return list
end

-- Parameters, the optimiser's state and the folded gradient; what threads share; and for each of two threads a gradient
-- and a workspace.
local function derive_memory(plan, facts)
  local longest = plan.longest_training
  plan.vector_bytes = plan.parameter_storage * (plan.precision == "float64" and 8 or 4)
  plan.largest_block = memory.largest_workspace(plan, training_tokens(plan, facts))
  plan.workspace_bytes = plan.largest_block.bytes
  plan.memory_bytes = (2 + #plan.optimizer.states) * plan.vector_bytes + memory.shared(plan, longest)
    + memory.tables(plan, longest) + 2 * (plan.vector_bytes + plan.workspace_bytes)
end

function M.derive(plan, net, facts)
  local counts = outline.counts(net, plan.network)
  plan.flops = {
    weights = counts.weights,
    pairs = counts.per_pair,
    relative = counts.per_distance // 2,
    output = counts.per_label // 2,
    products_text = counts.products,
    pairs_text = counts.pairs,
  }
  local longest, tokens, squares = M.token_counts(plan.resolved.train.lengths, facts)
  plan.longest_training, plan.mean_tokens = longest, tokens
  plan.mean_pairs, plan.flops_per_step = squares, 0
  for i, scope in ipairs(plan.network) do
    plan.flops_per_step = plan.flops_per_step + add_flops(plan, scope.operations, scope.times, 3) -- and backward, twice
    add_flops(plan, plan.passes[i].forward, scope.times, 1)
    add_flops(plan, plan.passes[i].backward, scope.times, 1)
  end
  derive_memory(plan, facts)
  add_bytes(plan)
end

return M
