-- Resolves the encoding of each attention of a model after the schema has been applied: the formula of its score,
-- positions.reading of cross-attention, and relative.sides.
--
-- Input: the context of validate.lua with the resolved spec; texts, the spec's files by display path (load.lua).
-- Output:
--   M.settle_score   returns the formula; leaves in encoding.<family> only facets that differ from shared facets
--   M.settle_sides   sets relative.sides
-- Errors go to the diagnostics.

local diagnostics = require("base.diagnostics")
local families = require("spec.families")
local inherit = require("spec.reading.inherit")
local lists = require("base.lists")
local predicates = require("facets.predicates")
local score = require("spec.score.score")
local tree = require("spec.reading.tree")
local values = require("spec.values")

local M = {}

-- Whether the value at a path is a default, which the spec does not state.
local function is_default(context, path)
  local origin = context.origins[path]
  return origin ~= nil and origin.default == true
end

-- Returns the formula of a score, or nil. If the score reads random positions, each layer samples them, unless the spec
-- states positions.draw.
--   family   the family to which the encoding belongs; nil for the shared encoding
--   user     the family that uses the formula
local function resolve_formula(context, texts, encoding, family, user)
  local nodes, path = values.get_formula_nodes(context, family), family and "encoding." .. family or "encoding"
  local model = context.resolved.model
  local formula = score.resolve(context, texts, lists.merge(nodes, { path = path, encoding = encoding,
    layers = families.count_layers(model, user, context.resolved.encoding), cross = user == "cross",
    causal = families.is_causal(model, user, encoding) }))
  if formula and encoding.positions.kind == "randomized"
    and predicates.score_reads_positions(encoding) and is_default(context, path .. ".positions.draw") then
    encoding.positions.draw = "layer"
  end
  return formula
end

-- Sets positions.reading of cross-attention with random positions to "difference". Other values sample distances for
-- one sequence, but queries and keys of cross-attention are from two sequences.
--   encoding         the family's encoding
--   cross_encoding   encoding.cross of the resolved spec, or nil
-- Returns a function to call when the score is known. If nothing reads distances, this function undoes the change. If
-- something does, and the spec states another value, the function sets context.conflicting_reading.
local function settle_cross(context, encoding, cross_encoding)
  local positions, path = encoding.positions, "encoding.cross.positions.reading"
  local shared_path = "encoding.positions.reading"
  path = cross_encoding and context.origins[path] ~= context.origins[shared_path] and path or shared_path
  if not positions or positions.kind ~= "randomized" or not positions.reading or positions.reading == "difference" then
    return function() end
  end
  encoding.positions = lists.copy(positions)
  encoding.positions.reading = "difference"
  return function()
    if not predicates.reads_distances({ encoding = encoding }) then
      encoding.positions = cross_encoding and positions or nil
    elseif not is_default(context, path) then
      context.conflicting_reading = { path = path, value = positions.reading }
    end
  end
end

-- Returns the formula that cross-attention inherits from a shared score. A score that reads positions, distances or
-- indices is not inherited: the result is nil. family: "cross", or nil if the spec has no table encoding.cross.
local function inherit_formula(context, texts, encoding, family)
  -- A trial, whose errors are not reported, shows what the score reads.
  local trial = setmetatable({ diagnostics = diagnostics.new(),
    origins = setmetatable({}, { __index = context.origins }) }, { __index = context })
  local trial_encoding = setmetatable({ positions = lists.copy(encoding.positions) }, { __index = encoding })
  resolve_formula(trial, texts, trial_encoding, family, "cross")
  if not trial_encoding.score or inherit.reads_positions(trial_encoding.score) then
    -- Without "none", cross-attention would have the shared score. families.settle copies "none" to encoding.cross.
    encoding.score = not family and values.get_formula_nodes(context).score and "none" or nil
    return nil
  end
  return resolve_formula(context, texts, encoding, family, "cross")
end

-- Returns the formula of the score, or nil; for a model with several families { families = { name = formula } }.
-- Families have separate formulas, since a formula may depend on the family's number of layers.
function M.settle_score(context, texts)
  local encoding, model = context.resolved.encoding, context.resolved.model
  local names = families.list(model, encoding)
  if not names then
    return nil
  elseif not names[2] then
    return resolve_formula(context, texts, encoding, nil, names[1])
  end
  local formulas, shared_encodings = {}, {}
  local encoding_node = context.loaded.tree.fields.encoding
  encoding_node = tree.is_table(encoding_node) and encoding_node or nil
  for _, name in ipairs(names) do
    local family_encoding = encoding[name]
    -- A family without a table gets a view of the shared encoding, in which its own score replaces the shared score.
    shared_encodings[name] = not family_encoding and setmetatable({}, { __index = encoding }) or nil
    local used_encoding = family_encoding or shared_encodings[name]
    local finish_positions = name == "cross" and settle_cross(context, used_encoding, family_encoding)
    local inherits_score = name == "cross" and not inherit.states_cross_score(encoding_node)
    local resolve = inherits_score and inherit_formula or resolve_formula
    formulas[name] = resolve(context, texts, used_encoding, family_encoding and name, name)
    if finish_positions then
      finish_positions()
    end
  end
  families.settle(encoding, names, shared_encodings, encoding_node and encoding_node.fields or {})
  return next(formulas) and { families = formulas } or nil
end

-- Sets relative.sides to "left" if no query sees a later key, unless the spec states relative.sides.
function M.settle_sides(context)
  local encoding, model = context.resolved.encoding, context.resolved.model
  local names = families.list(model, encoding) or {}
  for _, name in ipairs(names) do
    local section, path = encoding, "encoding.relative.sides"
    if names[2] then
      section, path = encoding[name] or {}, ("encoding.%s.relative.sides"):format(name)
    end
    local relative = section.relative
    if relative and relative.kind == "shaw" and is_default(context, path)
      and families.is_causal(model, name, section) then
      relative.sides = "left"
    end
  end
end
return M
