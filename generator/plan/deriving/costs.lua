-- Counts the floating-point operations of a step, which the commands `plan` and `bench` show.
--
-- Input: a plan with its network; the graph of this network (builder.lua); the task's header, which has the lengths of
-- sequences as formulas. Output of M.measure_training: the largest and the mean number of tokens of training sequences;
-- the largest number decides which weights attention stores (recomputed_weights.lua). Output of M.derive:
--   flops           factors for the generated formulas:
--     streams, attentions   see M.sum_up of outline.lua
--     pairs_text      words for the multiply-adds that a pair of tokens takes: the field `pairs` of M.sum_up
--     output          multiply-adds for a label
--     masked          families with masks: { family, pair_flops, pair_flops_per_head }; pair_flops: operations
--                     for a pair of tokens in all heads
--     training        the operations of a training step, as a multiple of the operations of a forward pass
--   flops_per_step  operations of a training step: the mean over the training lengths, weighted by the expected number
--                   of steps with each length
--   training_sizes  the tokens of every stream for all training lengths, { S, T } or { T } for each
-- M.derive also stores `flops` of a whole step (all repetitions) in every operation of plan.network (forward and
-- backward together) and of plan.passes (separately).
-- Counts per step are nominal:
--   a multiply-add counts as two operations;
--   attention counts, whatever its mask, as two multiply-adds for each pair of tokens and channel, or three with
--   `relative`;
--   the output layer and the map of relative distances are left out: executed_flops of templates/common/spec.c.tpl adds
--   them;
--   the backward pass counts as two forward passes.

local curriculum = require("spec.curriculum")
local lists = require("base.lists")
local outline = require("network.graph.outline")
local tasks = require("spec.task.tasks")

local M = {}

-- The sizes for all training lengths; for dataset files, only the largest allowed size. A size is a list with the
-- number of tokens of each stream: { S, T } (source, target) or { T }. Also returns the weights of the sizes and their
-- sum (curriculum.lua).
local function list_sizes(train, facts)
  if facts.data then
    return { tasks.count_max_tokens(facts) }, { 1 }, 1
  end
  local lengths = tasks.list_lengths(train.lengths)
  return lists.map(lengths, function(n) return tasks.count_tokens(facts, n) end),
    curriculum.weigh(train.lengths.curriculum, lengths, train.steps)
end

-- Returns three lists with an item for each stream: the largest number of tokens; the mean number of tokens over the
-- steps of training; and a list of mean numbers of pairs, whose item k counts the pairs of a token of this stream and a
-- token of stream k. The arguments are the results of list_sizes.
local function compute_means(sizes, weights, weight_sum)
  local max_tokens, tokens, mean_pairs = {}, {}, {}
  local function average(count)
    local sum = 0
    for i, size in ipairs(sizes) do
      sum = sum + weights[i] * count(size)
    end
    return sum / weight_sum
  end
  for s in ipairs(sizes[1]) do
    max_tokens[s], mean_pairs[s] = lists.max(sizes, function(size) return size[s] end), {}
    tokens[s] = average(function(size) return size[s] end)
    for k in ipairs(sizes[1]) do
      mean_pairs[s][k] = average(function(size) return size[s] * size[k] end)
    end
  end
  return max_tokens, tokens, mean_pairs
end

-- Stores the largest and the mean number of tokens of training sequences in each stream; returns the largest of all
-- streams, and the mean number of tokens of all streams together.
function M.measure_training(plan, facts)
  local max_tokens, tokens = compute_means(list_sizes(plan.resolved.train, facts))
  for i, stream in ipairs(plan.streams) do
    stream.mean_tokens, stream.longest = tokens[i], max_tokens[i]
  end
  return { longest_training = math.max(table.unpack(max_tokens)),
    mean_tokens = lists.sum(plan.streams, function(stream) return stream.mean_tokens end) }
end

-- If steps sample their number of passes (lh_draw_passes of runtime/data/train_lengths.h), max_passes is the largest
-- number. Then the results are the mean number of passes of a training step and the mean number of passes with a
-- gradient, both divided by max_passes. If steps do not sample it, max_passes is false, and both results are 1.
local function compute_pass_shares(max_passes)
  local pass_share, gradient_share = max_passes and 0 or 1, max_passes and 0 or 1
  for free_passes = 0, (max_passes or 0) - 1 do -- passes without gradient, at the beginning of the step
    local mean_gradient_passes = (1 + math.min(max_passes - free_passes, max_passes // 2)) / 2
    pass_share = pass_share + (free_passes + mean_gradient_passes) / max_passes ^ 2
    gradient_share = gradient_share + mean_gradient_passes / max_passes ^ 2
  end
  return pass_share, gradient_share
end

-- Whether the number of passes is the task length of an example.
local function has_passes_by_length(plan)
  return plan.cpu.passes_by_length and plan.task.pass_axis == 0
end

-- Operations of the forward pass of one sequence. size: a list with the number of tokens of each stream, or the number
-- of tokens of all streams together, which is then divided equally between the streams. If the number of passes is the
-- task length, it is taken to be proportional to the number of tokens; if it is the value on an axis, all examples are
-- taken to have the largest number of passes in training.
function M.count_forward(plan, size)
  local function get_tokens(s)
    return type(size) == "table" and size[s + 1] or size / #plan.streams
  end
  local flops = lists.sum(plan.flops.streams, function(stream)
    return 2 * stream.weights * get_tokens(stream.index)
  end) + lists.sum(plan.flops.attentions, function(entry)
    return entry.pair_flops * get_tokens(entry.queries) * get_tokens(entry.keys)
  end)
  return has_passes_by_length(plan) and flops * get_tokens(0) / plan.longest_training or flops
end

-- Sets the field `flops` of every operation of a list: the floating-point operations of a step at the mean training
-- length. Returns their sum. means: { tokens, pairs }, two results of compute_means; factor: the number of executions
-- of the list.
local function add_flops(plan, list, means, factor)
  return lists.sum(list, function(operation)
    local s, k = operation.stream + 1, operation.keys + 1
    local flops = operation.per_token * means.tokens[s] + operation.per_pair * means.pairs[s][k]
    operation.flops = math.floor(factor * flops * plan.resolved.train.batch + 0.5)
    return operation.flops
  end)
end

-- The field `masked` of flops: the families with a mask. Generated code on the CPU computes groups of queries, and
-- skips a key if no query of the group sees it.
local function list_masked(plan, counts)
  return lists.map(plan.attentions, function(family)
    local pair_flops = family.mask.kind ~= "none" and counts[family.name]
    return pair_flops
      and { family = family, pair_flops = pair_flops, pair_flops_per_head = pair_flops / family.heads } or nil
  end)
end

function M.derive(plan, net, facts)
  local counts = outline.sum_up(net, plan.network)
  local flops = {
    streams = counts.streams,
    attentions = counts.attentions,
    output = counts.per_label // 2,
    pairs_text = counts.pairs,
    masked = list_masked(plan, counts.families),
  }
  local sizes, weights, weight_sum = list_sizes(plan.resolved.train, facts)
  -- scope.times is the number of passes of the longest example, but an example of length n has only n passes.
  if has_passes_by_length(plan) then
    weights = lists.map(tasks.list_lengths(plan.resolved.train.lengths), function(n, i)
      return weights[i] * n / plan.cpu.passes
    end)
  end
  local _, tokens, mean_pairs = compute_means(sizes, weights, weight_sum)
  local means, step_flops = { tokens = tokens, pairs = mean_pairs }, 0
  local pass_share, gradient_share = compute_pass_shares(plan.cpu.gradient_passes and plan.cpu.passes)
  flops.training = pass_share + 2 * gradient_share -- a backward pass counts as two forward passes
  for i, scope in ipairs(plan.network) do
    step_flops = step_flops + add_flops(plan, scope.operations, means, flops.training * scope.times)
    add_flops(plan, plan.passes[i].forward, means, pass_share * scope.times)
    add_flops(plan, plan.passes[i].backward, means, gradient_share * scope.times)
  end
  return { flops = flops, flops_per_step = step_flops, training_sizes = sizes }
end

return M
