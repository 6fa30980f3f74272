-- Warnings about settings that are valid but probably not intended.
--
-- Input: the context of validate.lua, without errors. Output of M.list: a list of warnings as text.

local decoding = require("spec.rules.decoding_rules")
local diagnostics = require("base.diagnostics")
local families = require("spec.families")
local features = require("spec.rules.features")
local family_facets = require("spec.rules.family_facets")
local formulas = require("spec.task.formulas")
local lists = require("base.lists")
local facets = require("facets.modules")
local position_facet = require("facets.positions")
local reports = require("spec.rules.reports")

local M = {}

local function warn_intervals(resolved, warn)
  local train = resolved.train
  local warmup = train.schedule and train.schedule.warmup or 0
  if train.steps and warmup > train.steps then
    warn(("train.schedule.warmup: %d is past the last step, %d, so the rate never reaches train.learning_rate"):format(
      warmup, train.steps))
  end
  local unit = train.cadence == "epochs" and "epoch" or "step"
  local count = train[unit .. "s"] -- steps or epochs
  if not count then
    return -- only the trainer knows the number of steps
  end
  if train.log_every > count then
    warn(("train.log_every: %d is past the last %s, %d, so no metrics are written"):format(train.log_every, unit,
      count))
  end
  local keep = train.checkpoint.keep
  if type(keep) == "table" and keep[#keep] > count then
    warn(("train.checkpoint.keep: %s %d is past the last %s, %d"):format(unit, keep[#keep], unit, count))
  end
  local evaluation = resolved.eval.during
  if evaluation and evaluation.every > count then
    warn(("eval.during.every: %d is past the last %s, %d"):format(evaluation.every, unit, count))
  end
end

local DECODER_MASKS = { decoder = "encoding.mask", encoder_decoder = "encoding.decoder.mask" }

-- Warns about a window's right side if no keys to the right are visible.
local function warn_mask(context, warn)
  local path = DECODER_MASKS[context.resolved.model.kind]
  local mask = path and lists.get(context.resolved, path)
  if mask and (mask.right or 0) > 0 and family_facets.find_origin(context, path .. ".right") then
    warn(("%s.right: %d has no effect: a decoder sees no key after the query"):format(path, mask.right))
  end
end

-- Warns about `made_for` in a model with one family. made_for limits facets to one of several families.
local function warn_made_for(context, warn)
  local field = lists.get(context.loaded.tree, "fields.encoding.fields.made_for")
  if field and not families.list(context.resolved.model, context.resolved.encoding)[2] then
    warn(("encoding.made_for: %s has no effect: the model has only one kind of attention"):format(
      diagnostics.show(field.value)))
  end
end

local function warn_evaluation(resolved, warn)
  local eval = resolved.eval
  if eval.noise and not features.get_noise_unit(resolved) then
    warn(('eval.noise: %q has no effect: eval.by has no noise'):format(eval.noise))
  end
  if eval.dropout and not features.has_dropout(resolved) then
    warn("eval.dropout: true has no effect: nothing is dropped out in training either")
  end
  if eval.batch and eval.examples ~= "all" and eval.batch >= eval.examples then
    warn(("eval.batch: a batch of %d contains all %d examples, so each condition has only one batch"):format(eval.batch,
      eval.examples))
  end
end

-- The largest value that evaluations request on an axis; nil if they request no value, or all values.
local function find_max_value(eval, axis)
  local max_value
  for _, path in ipairs({ "by", "during.by" }) do
    local request = lists.get(eval, path .. "." .. axis)
    local last_value = type(request) == "table" and (request.last or request.list and request.list[#request.list])
    max_value = last_value and math.max(max_value or last_value, last_value) or max_value
  end
  return max_value
end

-- Warns about positions of kind "digits" in two cases:
--   an option of the task puts symbols inside numbers: each of these symbols ends a number
--   evaluations have digits at positions that training does not sample
-- task_lines.lua describes the fields of context.task.number_length.
local function warn_digits(context, warn)
  local positions, length = context.resolved.encoding.positions, context.task.number_length
  if positions.kind ~= "digits" or not length then
    return
  end
  if length.single_option then
    warn(("encoding.positions.kind: with task.options.%s, a symbol stands before each digit and ends the number, so "
      .. "all digits have the same position"):format(length.single_option))
  elseif length.cut_option then
    warn(("encoding.positions.kind: with task.options.%s, symbols within the numbers of the input end these numbers, "
      .. "so the positions of the next digits begin at 1 again"):format(length.cut_option))
  end
  local max_training_position, max_test_position = length.training_digits + positions.offset, 0
  for _, formula in ipairs(length.test_digits) do
    local axis = formula:match("%l[%l%d_]*")
    local max_value = find_max_value(context.resolved.eval, axis)
    local position = max_value and formulas.compute_from_options(formula, { [axis] = max_value }) or 0
    max_test_position = math.max(max_test_position, position)
  end
  if max_test_position > max_training_position then
    warn(("encoding.positions.offset: evaluations have digits at positions up to %d, but training samples positions up "
      .. "to %d, so the vectors of later positions are not trained"):format(max_test_position, max_training_position))
  end
end

-- Warns about a default max_position for positions of kind "by_task": examples use few positions of such a large range.
local function warn_max_position(context, warn)
  local positions, path = context.resolved.encoding.positions, "encoding.positions.max_position"
  if positions.kind == "by_task" and not family_facets.find_origin(context, path) then
    warn(("%s: %d by default. Training samples positions up to max_position: set it to the largest position in the "
      .. "longest test examples"):format(path, positions.max_position))
  end
end

-- Warns about probabilities that dropout rounds to 0. Dropout rounds a probability to a multiple of 1/65536.
local function warn_dropout(resolved, warn)
  for _, entry in ipairs(features.list_dropouts(resolved)) do
    local field, probability = entry[1], entry[2]
    if probability > 0 and math.floor(65536 * probability + 0.5) == 0 then
      warn(("%s: %s drops nothing, since dropout rounds probabilities to multiples of 1/65536"):format(field,
        diagnostics.show(probability)))
    end
  end
end

-- Warns about learned numbers that never get a gradient. warnings: the list to which `report` adds.
local function warn_unreached(context, report, warnings)
  local score, model = context.score or {}, context.resolved.model
  for _, name in ipairs(context.family_names) do
    local formula = score.root and score or score.families and score.families[name]
    local view = setmetatable({ causal = families.is_causal(model, name, context.resolved.encoding),
      spec_report = report, family = name ~= "self" and name or nil, formula = formula }, { __index = context })
    -- Example: if families share encoding.mask, spec_report names this field; family_report names encoding.cross.mask.
    local family_report = reports.make(view, warnings)
    facets.call(facets, "warn_unreached", view, family_report)
  end
end

function M.list(context)
  local resolved, list = context.resolved, {}
  local are_shared_warned = family_facets.check_each(context, function(view)
    local report = reports.make(view, list)
    facets.call(facets, "warn", view, report)
    decoding.warn(view, report)
    warn_unreached(view, report, list)
  end)
  if not are_shared_warned then -- families leave warnings about inherited positions to the shared facets
    position_facet.warn(context, reports.make(context, list))
  end
  local warn = reports.make(context, list).warn
  warn_made_for(context, warn)
  if resolved.model.spare_token == false and resolved.task.computation then
    warn("model.spare_token: false has no effect: computation tokens take the spare embedding")
  end
  warn_mask(context, warn)
  warn_evaluation(resolved, warn)
  warn_intervals(resolved, warn)
  warn_dropout(resolved, warn)
  warn_digits(context, warn)
  warn_max_position(context, warn)
  return list
end

return M
