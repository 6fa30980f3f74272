-- The positional encoding: every facet's part of the plan, what random positions it needs, how long a sequence may be.
--
-- Input: a plan with its network; the task's header and the formula of the score (facts of plan.lua). Output, into each
-- family of attentions: positions, rotation, mask, normaliser, relative, score, as facets/*.lua have them; into the
-- plan: additive; limit on the tokens, false without one; ranges of what is drawn; which
-- tables of positions there are. The input is placed by the positions of the first family.

local additive_facet = require("plan.facets.additive")
local costs = require("plan.costs")
local families = require("spec.families")
local mask_facet = require("plan.facets.mask")
local normaliser_facet = require("plan.facets.normaliser")
local positions_facet = require("plan.facets.positions")
local relative_facet = require("plan.facets.relative")
local rotation_facet = require("plan.facets.rotation")
local score_facet = require("plan.facets.score")

local M = {}

-- What is made for one sequence on both sides, and so cannot be where queries and keys are of two.
local function refuse_one_sided(family)
  local positions, found = family.positions, nil
  if family.normaliser.kind == "geometric" then
    found = { "normaliser", "geometric attention tries keys outwards", "softmax" }
  elseif positions.kind ~= "index" then
    found = { "positions", "positions are drawn", "index" }
  end
  if found then
    error({ problem = true, field = ("encoding.%s.%s"):format(family.name, found[1]),
      what = ("%s for one sequence, but its queries and keys are of two"):format(found[2]), expected = found[3] })
  end
end

-- The formula of a family's score; of several families, each has one.
local function formula_of(score, family)
  if score and score.families then
    return score.families[family.name]
  end
  return score
end

-- The facets of a family.
local function derive_family(plan, family, facts)
  local resolved = plan.resolved
  local encoding = families.encoding(resolved.encoding, family.name)
  family.positions = positions_facet.plan(encoding, family.layers)
  family.rotation = rotation_facet.plan(encoding, family,
    costs.longest(resolved.train.lengths, facts.task))
  family.mask = mask_facet.plan(encoding, family.causal)
  family.normaliser = normaliser_facet.plan(encoding, family)
  family.relative = relative_facet.plan(encoding, family, plan.width)
  family.score = score_facet.plan(encoding.score and formula_of(facts.score, family), family, plan.precision)
  family.score_text = encoding.score
  if family.cross then
    refuse_one_sided(family)
  end
  family.sums = family.relative.kind ~= "none" or family.score.trains or family.normaliser.kind == "geometric"
end

-- What hangs on all families: whether blocks of a shard add up more than the gradient, what lies behind the struct
-- `shared`, headers of the kernels.
local function derive_shared(plan)
  local wanted = {}
  plan.any_sums, plan.last_behind, plan.signed_sinusoids, plan.cpu_headers = false, false, false, {}
  for _, family in ipairs(plan.attentions) do
    local scored, geometric = family.score.kind ~= "none", family.normaliser.kind == "geometric"
    plan.any_sums = plan.any_sums or family.sums
    family.behind = family.relative.behind or scored
    family.behind_previous = plan.last_behind
    plan.last_behind = family.behind and family.name or plan.last_behind
    plan.signed_sinusoids = plan.signed_sinusoids or family.relative.biases
    wanted.rotation = wanted.rotation or family.rotation.kind == "rope"
    wanted.score = wanted.score or scored or family.mask.kind ~= "none"
    wanted.functions = wanted.functions or geometric
    wanted.math = wanted.math or geometric
  end
  for _, header in ipairs({ "rotation", "score", "functions", "math" }) do
    plan.cpu_headers[#plan.cpu_headers + 1] = wanted[header] and header or nil
  end
end

local function limit_of(plan)
  local positions = plan.first.positions
  local range, distance = positions.range, positions.distance
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
  local family = plan.first
  local positions, distance = family.positions, family.positions.distance
  plan.draws_distances = distance.draws ~= nil
  plan.position_range = positions.max_position or 0
  plan.distance_range = distance.max_position or 0
  plan.first_position = positions.first or 0
  plan.max_position = positions.max_position or distance.max_position or false
  plan.additive.from_tables = positions.kind ~= "sequence" -- a row of its table is one token's of every sequence
  plan.input_draw = positions.kind ~= "index" and plan.additive.kind ~= "none"
  plan.sinusoids, plan.tables = plan.additive.kind == "sinusoid" or plan.signed_sinusoids, false
  for _, each in ipairs(plan.attentions) do
    plan.tables = plan.tables or plan.sinusoids or each.rotation.kind == "rope"
  end
end

-- What is added to the vectors of tokens, before it is known which attentions there are.
function M.add(plan)
  plan.additive = additive_facet.plan(plan.resolved.encoding, plan.resolved.model)
end

function M.derive(plan, facts)
  for _, family in ipairs(plan.attentions) do
    derive_family(plan, family, facts)
  end
  if not plan.attentions[1] then
    derive_family(plan, plan.first, facts)
  end
  derive_shared(plan)
  derive_draws(plan)
  plan.limit = limit_of(plan)
end

-- How often training meets each position or distance of the range, on average; nil where nothing is drawn, or where
-- the lengths are a file's. Needs the plan's costs.
function M.visits(plan)
  local positions, train = plan.first.positions, plan.resolved.train
  local range = positions.range or positions.distance.range
  if not range or not train.steps or plan.task.data then
    return nil
  end
  local draws = positions.kind == "sequence" and train.batch or 1
  return train.steps * plan.mean_tokens * draws / range
end

return M
