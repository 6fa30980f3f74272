-- The positional encoding: every facet's part of the plan, what random positions it needs, how long a sequence may be.
--
-- Input: a plan with its network; the task's header and the formula of the score (facts of plan.lua). Output, into the
-- plan: positions, additive, rotation, mask, normaliser, relative, score, as facets/*.lua have them; dropouts of the
-- whole model; limit on the tokens, false without one; ranges of what is drawn; which tables of positions there are.

local additive_facet = require("plan.facets.additive")
local costs = require("plan.costs")
local dimensions = require("plan.dimensions")
local features = require("spec.features")
local mask_facet = require("plan.facets.mask")
local normaliser_facet = require("plan.facets.normaliser")
local positions_facet = require("plan.facets.positions")
local relative_facet = require("plan.facets.relative")
local rotation_facet = require("plan.facets.rotation")
local score_facet = require("plan.facets.score")

local M = {}

local function derive_facets(plan, facts)
  local resolved = plan.resolved
  local encoding = resolved.encoding
  plan.positions = positions_facet.plan(encoding, plan.layers)
  plan.additive = additive_facet.plan(encoding)
  plan.rotation = rotation_facet.plan(encoding, plan.head_width, plan.positions,
    (costs.token_counts(resolved.train.lengths, facts.task)))
  plan.mask = mask_facet.plan(encoding, features.is_causal(resolved))
  plan.normaliser = normaliser_facet.plan(encoding, resolved.model)
  plan.relative = relative_facet.plan(encoding, resolved.model, plan.positions)
  plan.score = score_facet.plan(facts.score, plan)
  plan.score_text = encoding.score
end

-- The dropouts of the whole model: of its branches, and of the sum of embedding and encoding.
local function derive_dropouts(plan)
  plan.additive.dropout = dimensions.dropout("EMBEDDING", plan.additive.dropout_rate)
  plan.dropouts = {}
  for _, d in ipairs({ plan.dropout, plan.additive.dropout }) do
    if d.kind ~= "none" then
      plan.dropouts[#plan.dropouts + 1] = d
    end
  end
  plan.eval_dropout = plan.resolved.eval.dropout and plan.dropouts[1] ~= nil or false
end

local function limit_of(plan)
  local range, distance = plan.positions.range, plan.positions.distance
  if range or distance.range then -- distances alone: one fewer than there are tokens
    return { tokens = range or distance.max_position,
      because = "encoding.positions.max_position = " .. (range or distance.range) }
  elseif plan.additive.kind == "learned" then
    return { tokens = plan.additive.rows, because = "encoding.additive.rows = " .. plan.additive.rows }
  end
  return false
end

-- What is drawn, and what reads it: the input, or tables of positions.
local function derive_draws(plan)
  local positions, distance = plan.positions, plan.positions.distance
  plan.draws_distances = distance.draws ~= nil
  plan.position_range = positions.max_position or 0
  plan.distance_range = distance.max_position or 0
  plan.first_position = positions.first or 0
  plan.max_position = positions.max_position or distance.max_position or false
  plan.input_draw = positions.kind ~= "index" and plan.additive.kind ~= "none"
  plan.sinusoids = plan.additive.kind == "sinusoid" or plan.relative.kind == "transformer_xl"
  plan.tables = plan.sinusoids or plan.rotation.kind == "rope"
end

function M.derive(plan, facts)
  derive_facets(plan, facts)
  derive_dropouts(plan)
  derive_draws(plan)
  plan.limit = limit_of(plan)
end

-- How often training meets each position or distance of the range, on average; nil where nothing is drawn, or where
-- the lengths are a file's. Needs the plan's costs.
function M.visits(plan)
  local range, train = plan.positions.range or plan.positions.distance.range, plan.resolved.train
  if not range or not train.steps or plan.task.data then
    return nil
  end
  local draws = plan.positions.kind == "sequence" and train.batch or 1
  return train.steps * plan.mean_tokens * draws / range
end

return M
