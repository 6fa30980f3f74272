-- Whether training on the CPU stores attention's weights for the backward pass, or the backward pass recomputes them.
--
-- Input: a plan with its network and its longest training length. Output: each attention gets `recomputed`: false, or
--   pairs     weights of a sequence with at most this number of pairs of tokens are stored
--   queries   the number of queries whose weights are recomputed together, and used up while they are in cache
--   always    no weights are stored
-- and `bounded` (dimensions.lua). The backward pass reads stored weights after those of all attentions, layers and
-- heads, in every loop of a block, have been written: if all of them together exceed a core's share of the last cache,
-- reading takes longer than recomputing.

local lists = require("base.lists")

local M = {}

local MOST_KEPT = 4 << 20 -- bytes of one sequence, of all uses of all layers and attentions
local MOST_OF_HEAD = 512 << 10 -- bytes of one head; the gradients of its logits take as much again
local QUERIES = 32

-- The reason why weights cannot be recomputed, or nil. Dropped-out weights are marked when they are used, two streams
-- have no common longest length, and the geometric normaliser stores more than weights.
local function find_obstacle(plan, family)
  return family.drops and "attention's weights drop out" or plan.streams[2] and "the model has two streams"
    or family.normaliser.kind ~= "softmax" and "the normaliser is geometric" or nil
end

-- The largest number of pairs of tokens of a sequence with stored weights: each pair has one number in every head of
-- every attention, or two numbers with the geometric normaliser.
local function count_most_pairs(plan)
  local real, numbers = plan.real_bytes, lists.sum(plan.attentions, function(family)
    return (family.normaliser.kind == "geometric" and 2 or 1) * family.heads * family.repetitions
  end)
  return math.min(MOST_KEPT // (real * numbers), MOST_OF_HEAD // real)
end

function M.settle(plan)
  local asked, longest = plan.resolved.train.keep_probabilities, plan.longest_training
  local pairs = plan.attentions[1] and count_most_pairs(plan)
  if not pairs then
    plan.first.recomputed, plan.first.bounded = false, false
  end
  for _, family in ipairs(plan.attentions) do
    local why = find_obstacle(plan, family)
    if asked == false and why then
      error({ problem = true, field = "train.keep_probabilities", what = "is false, but " .. why,
        expected = "true, or nothing" }, 0)
    end
    family.recomputed = not why and (asked == false or asked == nil and longest * longest > pairs)
      and { pairs = pairs, queries = QUERIES, always = asked == false } or false
    family.bounded = family.partial or family.recomputed ~= false
  end
end

return M
