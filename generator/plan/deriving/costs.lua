-- Costs of a step: floating-point operations and memory, for `plan` and for bench.
--
-- Input: a plan with its network; that network (builder.lua); the task's header (lengths as formulas). Output of
-- M.training: facts about the training lengths; the longest length decides which weights attention stores
-- (recomputed_weights.lua). Output of M.derive:
--   flops           factors for the generated formulas; masked: families with masks, { family, count, of_head }, for a
--                   pair of tokens in all heads and in one; flops_per_step; and `flops` of a whole step (all
--                   repetitions, mean over the training lengths), stored in the operations of plan.network (forward and
--                   backward) and of plan.passes (separately). The latter also get kept_bytes and scratch_bytes
--   vector_bytes    bytes of all parameters; shared_bytes, tables_bytes of all threads; workspace_bytes of each thread,
--                   at the widest level; memory_bytes of a process that trains with THREADS (memory.lua)
--   largest_block   { bytes, size, sequences }: the block for which a workspace has space
-- Counts are nominal: a multiply-add counts as two operations; attention counts as two products of T^2 pairs by the
-- width, whatever its mask; the backward pass counts as two forward passes, without the output layer.

local lists = require("base.lists")
local memory = require("plan.deriving.memory")
local outline = require("network.graph.outline")
local tasks = require("spec.task.tasks")

local M = { THREADS = 2 }

-- The tokens of every stream for all training lengths: a list { S, T } or { T } for each; for dataset files only the
-- largest allowed lengths.
local function all_sizes(lengths, facts)
  if facts.data then
    return { tasks.most_streams(facts) }
  end
  return lists.map(tasks.lengths(lengths), function(n) return tasks.streams(facts, n) end)
end

-- Returns the longest length of every stream in the list, the mean number of tokens of each stream, and the mean number
-- of pairs for every two streams.
local function means_of(sizes)
  local longest, tokens, pairs_of = {}, {}, {}
  for s in ipairs(sizes[1]) do
    longest[s], pairs_of[s] = 0, {}
    for _, size in ipairs(sizes) do
      longest[s] = math.max(longest[s], size[s])
    end
    tokens[s] = lists.sum(sizes, function(size) return size[s] end) / #sizes
    for k in ipairs(sizes[1]) do
      pairs_of[s][k] = lists.sum(sizes, function(size) return size[s] * size[k] end) / #sizes
    end
  end
  return longest, tokens, pairs_of
end

function M.longest(lengths, facts)
  return math.max(table.unpack((means_of(all_sizes(lengths, facts)))))
end

-- The tokens of training sequences in each part and in each stream: the largest number and the mean.
function M.training(plan, facts)
  local longest, tokens = means_of(all_sizes(plan.resolved.train.lengths, facts))
  for i, stream in ipairs(plan.streams) do
    stream.mean_tokens, stream.longest = tokens[i], longest[i]
  end
  return { longest_training = math.max(table.unpack(longest)),
    mean_tokens = lists.sum(plan.streams, function(stream) return stream.mean_tokens end) }
end

-- Operations of the forward pass of one sequence. size: tokens of every stream, or the mean tokens of all streams.
function M.forward(plan, size)
  local function tokens(s)
    return type(size) == "table" and size[s + 1] or size / #plan.streams
  end
  return lists.sum(plan.flops.streams, function(stream) return 2 * stream.weights * tokens(stream.index) end)
    + lists.sum(plan.flops.attentions, function(entry)
      return entry.count * tokens(entry.queries) * tokens(entry.keys)
    end)
end

-- Stores the operations of a step at the mean training length in every operation of a list; returns their sum. means:
-- tokens of every stream, and pairs; factor: what the list's counts are multiplied by.
local function add_flops(plan, list, means, factor)
  return lists.sum(list, function(operation)
    local s, k = operation.stream + 1, operation.keys + 1
    local flops = operation.per_token * means.tokens[s] + operation.per_pair * means.pairs[s][k]
    operation.flops = math.floor(factor * flops * plan.resolved.train.batch + 0.5)
    return operation.flops
  end)
end

-- Stores kept_bytes and scratch_bytes in every operation of the passes: bytes of the buffers whose first writer is the
-- operation, in a thread's largest block, over all repetitions.
local function add_bytes(plan, block)
  local kept, scratch = {}, {}
  for _, room in ipairs(memory.rooms(plan, block.size, block.sequences)) do
    local to, key = room.kept and kept or scratch, (room.block or "") .. " " .. room.name
    to[key] = (to[key] or 0) + room.bytes
  end
  for _, scope in ipairs(plan.passes) do
    local front = scope.name .. " "
    for _, operation in ipairs(lists.join(scope.forward, scope.backward)) do
      operation.kept_bytes = lists.sum(operation.buffers, function(name)
        return kept[front .. name] or kept[" " .. name] or 0
      end)
      operation.scratch_bytes = lists.sum(operation.buffers, function(name)
        return kept[front .. name] and 0 or scratch[" " .. name] or 0
      end)
    end
  end
end

-- Sizes of sequences, among them that of the largest block; for dataset files all sizes up to the longest allowed one.
local function block_sizes(facts, sizes)
  if not facts.data then
    return sizes
  end
  local list, longest = {}, sizes[1]
  for T = 1, math.max(table.unpack(longest)) do
    list[T] = { math.min(T, longest[1]), longest[2] and math.min(T, longest[2]) }
  end
  return list
end

local function memory_of(plan, sizes, longest)
  local block = memory.largest_workspace(plan, sizes)
  local bytes = { vector_bytes = plan.parameter_storage * plan.real_bytes,
    largest_block = block, workspace_bytes = block.bytes, shared_bytes = memory.shared(plan, longest),
    tables_bytes = memory.tables(plan, longest) }
  bytes.memory_bytes = math.floor(memory.process(plan, bytes, M.THREADS))
  return bytes
end

-- Counts the pairs that generated code on the CPU skips because no query of a group can see the key.
local function masked(plan, counts)
  return lists.map(plan.attentions, function(family)
    local count = family.mask.kind ~= "none" and counts[family.name]
    return count and { family = family, count = count, of_head = count / family.heads } or nil
  end)
end

function M.derive(plan, net, facts)
  local counts = outline.counts(net, plan.network)
  local flops = {
    streams = counts.streams,
    attentions = counts.attentions,
    relative = counts.per_distance // 2,
    output = counts.per_label // 2,
    pairs_text = counts.pairs,
    masked = masked(plan, counts.families),
  }
  local sizes = all_sizes(plan.resolved.train.lengths, facts)
  local longest, tokens, pairs_of = means_of(sizes)
  local means, per_step = { tokens = tokens, pairs = pairs_of }, 0
  for i, scope in ipairs(plan.network) do
    per_step = per_step + add_flops(plan, scope.operations, means, 3 * scope.times) -- 3: 1 forward, 2 backward
    add_flops(plan, plan.passes[i].forward, means, scope.times)
    add_flops(plan, plan.passes[i].backward, means, scope.times)
  end
  local part = memory_of(plan, block_sizes(facts, sizes), longest)
  part.flops, part.flops_per_step = flops, per_step
  add_bytes(plan, part.largest_block)
  return part
end

return M
