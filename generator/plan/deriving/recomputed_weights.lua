-- Decides whether training on the CPU stores attention's weights for the backward pass, or the backward pass recomputes
-- them.
--
-- Input: a plan with its network and its longest training length. Output: each attention gets `recomputed`: false, or
--   pairs     weights of a sequence with at most this number of pairs of tokens are stored
--   queries   the number of queries whose weights are recomputed together, and read while they are in cache
--   always    whether weights are recomputed at every length, so that none are stored
-- Each attention also gets `has_query_bounds` (dimensions.lua). Before the backward pass reads stored weights, the
-- forward pass has written the weights of all attentions, heads and repetitions of blocks. If these weights together
-- exceed a core's part of the last cache, reading them takes longer than recomputing them.

local lists = require("base.lists")

local M = {}

-- Limits of stored weights: for one sequence, in all repetitions of all layers and attentions; and for one head. The
-- gradients of a head's logits, which are not counted, need the same memory in addition.
local MAX_SEQUENCE_BYTES, MAX_HEAD_BYTES = 4 << 20, 512 << 10
local QUERIES = 32 -- queries whose weights are recomputed together

-- The reason why weights cannot be recomputed, or nil. With dropout, stored weights also record which of them were
-- dropped; two streams have no common longest length; and the geometric normaliser stores more than weights.
local function find_obstacle(plan, family)
  return family.weight_dropout and "attention's weights have dropout" or plan.streams[2] and "the model has two streams"
    or family.normaliser.kind == "geometric" and "the normaliser is geometric" or nil
end

-- The largest number of pairs of tokens that a sequence may have if its weights are stored. Each pair has one number in
-- every head of every attention, or two numbers with the geometric normaliser.
local function count_stored_pairs(plan)
  local real, numbers = plan.real_bytes, lists.sum(plan.attentions, function(family)
    return (family.normaliser.kind == "geometric" and 2 or 1) * family.heads * family.repetitions
  end)
  return math.min(MAX_SEQUENCE_BYTES // (real * numbers), MAX_HEAD_BYTES // real)
end

function M.settle(plan)
  local keeps_weights, tokens = plan.resolved.train.keep_probabilities, plan.longest_training
  local pairs = plan.attentions[1] and count_stored_pairs(plan)
  if not pairs then
    plan.first_family.recomputed, plan.first_family.has_query_bounds = false, false
  end
  for _, family in ipairs(plan.attentions) do
    local obstacle = find_obstacle(plan, family)
    if keeps_weights == false and obstacle then
      error({ problem = true, field = "train.keep_probabilities", what = "is false, but " .. obstacle,
        expected = "true, or no such field" }, 0)
    end
    family.recomputed = not obstacle and (keeps_weights == false or keeps_weights == nil and tokens * tokens > pairs)
      and { pairs = pairs, queries = QUERIES, always = keeps_weights == false } or false
    family.has_query_bounds = family.computes_labelled_tokens or family.recomputed ~= false
  end
end

return M
