-- Shared functions of the writers of tests/expressions: plans of positions that formulas need, and rendering.
--
-- Input: the repository's root. Output: functions; reads templates, writes nothing.

local render = require("render.templates.render")
local terms = require("attention.terms")

local M = {}

-- The plan of a reading of distances (index, drawn, difference, clamped) in a model with this number of layers, each
-- with its own draw.
function M.make_positions(reading, layers)
  local is_sampled = reading == "drawn" or reading == "clamped"
  return { kind = reading == "difference" and "randomized" or "index",
    layer_index = reading == "difference" and "l" or false, per_layer = reading == "difference",
    distance = { kind = reading, independent = false, layer_index = is_sampled and "l" or false, per_layer = is_sampled,
      draws = is_sampled and layers or false } }
end

-- A single family in the form that templates and the facet of scores read.
function M.make_family(positions, heads, layers)
  return { name = "self", prefix = "", PREFIX = "", heads = heads, layers = layers, positions = positions,
    relative = { has_step_tables = false }, queries = { stream = 0 }, keys = { stream = 0 }, cross = false,
    previous_step_tables = false, is_decoded = false, caches_tiles = false,
    attends = { T = "T", S = "T", keys = "T" },
    stack = { member = "layer", count = "LAYERS" }, mask = { kind = "none" }, rotation = { kind = "none" },
    normaliser = { kind = "softmax" }, drops = false }
end

-- The family with its terms and the names of their bounds; score: the facet's plan.
function M.settle_family(positions, heads, layers, score)
  local family = M.make_family(positions or M.make_positions("index", layers), heads, layers)
  family.score = score or { kind = "none" }
  terms.settle({ attentions = { family } })
  return family
end

-- Renders a template of this folder, which may include those of templates/.
function M.render(root, name, plan)
  local text, problem = render.render(name, plan, function(path)
    local file = io.open(root .. "/templates/" .. path) or io.open(root .. "/tests/expressions/" .. path)
    local found = file and file:read("a")
    if file then
      file:close()
    end
    return found
  end, nil, plan.family)
  if not text then
    error(("%s:%s: %s"):format(problem.path, problem.line, problem.what))
  end
  return text
end

return M
