-- What a step costs: floating-point operations and memory, for `plan` and for bench.
--
-- Input: a plan with its dimensions; its network (network/builder.lua); the task's header (lengths as formulas).
-- Output, into the plan: network (network/outline.lua, each operation with `flops`: of a whole step, all repetitions,
-- forward and backward, mean over the training lengths), flops (factors for the generated formulas), flops_per_step,
-- memory_bytes.
-- Counts are nominal: two operations per multiply-add, attention T^2 pairs by width twice, whatever its mask, backward
-- twice the forward, without the output layer.

local memory = require("plan.memory")
local outline = require("network.outline")
local tasks = require("spec.tasks")

local M = {}

-- Tokens of every stream over the training lengths: all, a list { S, T } or { T } for each; of finite data the longest
-- that are allowed.
local function all_sizes(lengths, facts)
  if facts.data then
    return { tasks.most_streams(facts) }
  end
  local list = {}
  for i, n in ipairs(tasks.lengths(lengths)) do
    list[i] = tasks.streams(facts, n)
  end
  return list
end

-- Of the list: the longest of every stream, the means of tokens, and those of pairs by the streams of both sides.
local function means_of(sizes)
  local longest, tokens, pairs_of = {}, {}, {}
  for s in ipairs(sizes[1]) do
    local sum, products = 0, {}
    longest[s] = 0
    for _, size in ipairs(sizes) do
      longest[s], sum = math.max(longest[s], size[s]), sum + size[s]
      for k in ipairs(size) do
        products[k] = (products[k] or 0) + size[s] * size[k]
      end
    end
    tokens[s], pairs_of[s] = sum / #sizes, {}
    for k, product in ipairs(products) do
      pairs_of[s][k] = product / #sizes
    end
  end
  return longest, tokens, pairs_of
end

-- Tokens of the longest sequence of training.
function M.longest(lengths, facts)
  return math.max(table.unpack((means_of(all_sizes(lengths, facts)))))
end

-- Operations of one sequence, forward. size: tokens of every stream, or those of all streams together.
function M.forward(plan, size)
  local count = #plan.streams
  local sum = 0
  local function tokens(s)
    return type(size) == "table" and size[s + 1] or size / count
  end
  for _, stream in ipairs(plan.flops.streams) do
    sum = sum + 2 * stream.weights * tokens(stream.index)
  end
  for _, entry in ipairs(plan.flops.attentions) do
    sum = sum + entry.count * tokens(entry.queries) * tokens(entry.keys)
  end
  return sum
end

-- Operations of a step at the mean training length, into every operation of the outline; their sum.
local function add_flops(plan, tokens, pairs_of)
  local batch, sum = plan.resolved.train.batch, 0
  for _, scope in ipairs(plan.network) do
    for _, operation in ipairs(scope.operations) do
      local s, k = operation.stream + 1, operation.keys + 1
      local forward = operation.per_token * tokens[s] + operation.per_pair * pairs_of[s][k]
      operation.flops = math.floor(3 * forward * batch * scope.times + 0.5)
      sum = sum + operation.flops
    end
  end
  return sum
end

function M.derive(plan, net, facts)
  plan.network = outline.of(net)
  local counts = outline.counts(net, plan.network)
  plan.flops = {
    streams = counts.streams,
    attentions = counts.attentions,
    relative = counts.per_distance // 2,
    output = counts.per_label // 2,
    pairs_text = counts.pairs,
  }
  local sizes = all_sizes(plan.resolved.train.lengths, facts)
  local longest_of, tokens, pairs_of = means_of(sizes)
  local longest = math.max(table.unpack(longest_of))
  plan.longest_training, plan.mean_tokens = longest, 0
  for _, mean in ipairs(tokens) do
    plan.mean_tokens = plan.mean_tokens + mean
  end
  plan.flops_per_step = add_flops(plan, tokens, pairs_of)
  memory.derive(plan, sizes, longest_of)
end

return M
