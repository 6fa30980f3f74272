-- What a step costs: floating-point operations and memory, for `plan` and for bench.
--
-- Input: a plan with its dimensions; its network (network/builder.lua); the task's header (lengths as formulas).
-- Output, into the plan: network (network/outline.lua, each operation with `flops`: of a whole step, all repetitions,
-- forward and backward, mean over the training lengths), flops (factors for the generated formulas), flops_per_step,
-- memory_bytes.
-- Counts are nominal: two operations per multiply-add, attention T^2 pairs by width twice, whatever its mask, backward
-- twice the forward, without the output layer.

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

-- Operations of a step at the mean training length, into every operation of the outline; their sum.
local function add_flops(plan, tokens, squares)
  local batch, sum = plan.resolved.train.batch, 0
  for _, scope in ipairs(plan.network) do
    for _, operation in ipairs(scope.operations) do
      local forward = operation.per_token * tokens + operation.per_pair * squares
      operation.flops = math.floor(3 * forward * batch * scope.times + 0.5)
      sum = sum + operation.flops
    end
  end
  return sum
end

local function real_bytes(plan)
  return plan.precision == "float64" and 8 or 4
end

-- Rows of vectors of distances for sequences of T tokens, at most; 0 where the code makes none.
local function relative_rows(plan, T)
  local family = plan.attentions[1]
  local relative = family.relative
  if relative.toeplitz then
    return 2 * T - 1
  end
  return relative.behind and math.min(T * (T - 1) + 1, 2 * plan.max_position - 1) or 0
end

-- Elements of all sets of the score's tables: lay_out_self_scores in templates/cpu/score.inc.tpl.
local function score_elements(plan, T, lanes)
  local family = plan.attentions[1]
  local score = family.score
  if score.kind == "none" then
    return 0
  end
  local queries = (T + lanes - 1) // lanes * lanes
  local counts = { uniform = 1, query = queries, key = queries, sum = 2 * queries + lanes, pair = T * queries,
    distance = (T + lanes - 2) // lanes * lanes + queries + lanes }
  local total = 0
  for _, t in ipairs(score.tables) do
    total = total + counts[t.class] * ((t.per_head and family.heads or 1) + (t.row and 1 or 0))
  end
  return score.sets * total
end

-- Elements that a shard's blocks add up: lay_out_sums in templates/cpu/sums.tpl.
local function sums_elements(plan, T, lanes)
  local family = plan.attentions[1]
  local relative = family.relative
  local gradients = family.score.trains and score_elements(plan, T, lanes) or 0
  if relative.kind == "none" then
    return gradients
  end
  local rows = relative.behind and relative_rows(plan, T) or relative.rows
  return gradients + plan.layers * (rows * relative.width + (relative.biases and 2 * plan.width * lanes or 0))
end

-- Elements behind the struct shared: templates/cpu/relative_tables.tpl.
local function behind_elements(plan, T)
  local family = plan.attentions[1]
  local relative, rows = family.relative, relative_rows(plan, T)
  if rows == 0 then
    return 0
  end
  local codes = relative.biases and relative.sets + (relative.toeplitz and plan.layers or 0) or 0
  return rows * (codes * plan.width + plan.layers * relative.width)
end

-- What geometric attention has beyond softmax: elements of a layer, and of the backward pass. Layers keep the offsets
-- of groups of queries, twice: templates/cpu/attention_kept_geometric.tpl. Behind them are gradients by offset, columns
-- of keys and values, and what a shard adds up.
local function geometric_elements(plan, T, lanes, sequences)
  local family = plan.attentions[1]
  local normaliser = family.normaliser
  if normaliser.kind ~= "geometric" then
    return 0, 0
  end
  local queries, keys = (T + lanes - 1) // lanes * lanes, (T + 7) // 8 * 8
  local of_query = keys + 2 * (lanes - 1) - (normaliser.normalised and 0 or 1)
  local columns = 2 * family.head_width * ((queries // lanes + 2) | 1) * lanes
  local sums = plan.layers * (plan.width + (normaliser.directional and 3 or 2)) * lanes
  return sequences * family.heads * queries * of_query, queries * (lanes - 1) + columns + sums
end

-- Bytes of a block of sequences of T tokens in training, for the widest level: what the layers and the pass keep of
-- every row, and what attention has beside it; without rounding to cache lines.
local function block_bytes(plan, T)
  local family, cpu, real = plan.attentions[1], plan.cpu, real_bytes(plan)
  local lanes = 64 // real
  local shard = (plan.resolved.train.batch + plan.resolved.train.shards - 1) // plan.resolved.train.shards
  local sequences = math.min(shard, math.max(1, (plan.block_tokens + T // 2) // T))
  local rows = (sequences * T + 5) // 6 * 6
  local queries, keys = (T + lanes - 1) // lanes * lanes, (T + 7) // 8 * 8
  local geometric_layer, geometric_backward = geometric_elements(plan, T, lanes, sequences)
  local of_layer = sequences * family.heads * queries * (keys + 1) + geometric_layer
  local dlogits = family.relative.toeplitz and queries * (T + 8) + 8 * lanes or queries * keys
  local of_head = dlogits + family.relative.vectors * T * family.head_width + sums_elements(plan, T, lanes)
    + geometric_backward
  local bytes = rows * (cpu.room.reals * real + cpu.room.bytes) + of_head * real
  for _, block in ipairs(cpu.blocks) do
    bytes = bytes + block.repetitions * (rows * (block.room.reals * real + block.room.bytes) + of_layer * real)
  end
  return bytes + (family.positions.kind == "sequence" and (sequences * T + plan.max_position) * 4 or 0)
end

-- Bytes of one thread's workspace: room for the blocks of every length up to the longest. Blocks of shorter sequences
-- can be larger, because a block is whole sequences.
local function workspace_bytes(plan, longest)
  local most = 0
  for T = 1, longest do
    most = math.max(most, block_bytes(plan, T))
  end
  return most
end

-- Bytes of the position tables, of the draws and of what hangs on distances, for sequences of up to T tokens, as the
-- widest level has them.
local function position_bytes(plan, T)
  local family = plan.attentions[1]
  local rows = plan.max_position or T
  local turns = family.rotation.kind == "rope"
  local row = (plan.sinusoids and plan.width or 0) + (turns and 2 * family.rotation.period or 0)
  local distance = family.positions.distance
  local draws = 2 * (family.positions.draws or 0) + (distance.draws or 0) * (distance.independent and 3 or 2)
  local numbers = family.relative.behind and not family.relative.toeplitz and 2 * family.relative.sets * rows or 0
  local real = real_bytes(plan)
  local lanes = 64 // real
  if numbers > 0 then -- where the rows of pairs start
    numbers = numbers + family.relative.sets * T * ((T + lanes - 1) // lanes * lanes)
  end
  return (rows * row + behind_elements(plan, T) + score_elements(plan, T, lanes)) * real
    + (plan.max_position and (draws * rows + numbers) * 4 or 0)
end

function M.derive(plan, net, facts)
  plan.network = outline.of(net)
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
  plan.flops_per_step = add_flops(plan, tokens, squares)
  plan.vector_bytes = plan.parameter_storage * real_bytes(plan)
  plan.workspace_bytes = workspace_bytes(plan, longest)
  -- Parameters, the optimiser's state, the folded gradient, two forms of packed weights; and for each of two threads a
  -- gradient and a workspace.
  plan.memory_bytes = plan.vector_bytes * (4 + #plan.optimizer.states) + 2 * (plan.vector_bytes + plan.workspace_bytes)
    + position_bytes(plan, longest)
end

return M
