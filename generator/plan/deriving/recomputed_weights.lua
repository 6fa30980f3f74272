-- Whether training on the CPU stores attention's weights for the backward pass, or recomputes them there.
--
-- Input: a plan with its network and its longest training length. Output: in its attentions `recomputed`: false, or
--   pairs     weights of a sequence with at most this number of pairs of tokens are stored
--   queries   the number of queries whose weights are recomputed together, and finished while they are in cache
--   always    no weights are stored
-- and `bounded` (dimensions.lua). Stored weights of all attentions, layers and heads, in every loop of a block, are
-- read again after all of them were written: beyond a core's share of the last cache this takes longer than
-- recomputing.

local lists = require("base.lists")

local M = {}

local MOST_KEPT = 4 << 20 -- bytes, of all uses of all layers and attentions of one sequence
local MOST_OF_HEAD = 512 << 10 -- of one head; the gradients of its logits take as much again
local QUERIES = 32

-- The reason why weights cannot be recomputed, or nil: those that drop out are marked when they are used, two streams
-- have no longest length of their own, and the geometric normaliser keeps more than weights.
local function obstacle(plan, family)
  return family.drops and "attention's weights drop out" or plan.streams[2] and "the model has two streams"
    or family.normaliser.kind ~= "softmax" and "the normaliser is geometric" or nil
end

-- The largest number of a sequence's pairs of tokens for which weights are stored: each pair has a number in every head
-- of every attention, two with the geometric normaliser.
local function most_pairs(plan)
  local real, numbers = plan.real_bytes, lists.sum(plan.attentions, function(family)
    return (family.normaliser.kind == "geometric" and 2 or 1) * family.heads * family.repetitions
  end)
  return math.min(MOST_KEPT // (real * numbers), MOST_OF_HEAD // real)
end

function M.settle(plan)
  local asked, longest = plan.resolved.train.keep_probabilities, plan.longest_training
  local pairs = plan.attentions[1] and most_pairs(plan)
  if not pairs then
    plan.first.recomputed, plan.first.bounded = false, false
  end
  for _, family in ipairs(plan.attentions) do
    local why = obstacle(plan, family)
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
