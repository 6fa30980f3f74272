-- Derives the parts of a plan about the optimiser (the rule by which gradients change parameters) and about the
-- schedule of the learning rate. Templates and the runtime's spec read them.
--
-- Input: the plan with its tensors. Output:
--   optimizer   the fields that the function plan() of the optimiser in spec/optimizers.lua returns, and
--     kind, title   its name in the spec, and its usual name
--     spared        the elements of the parameter vector to which weight decay does not apply, as ascending ranges
--                   { first, last } (last included); false if weight decay applies to all or to none
--     spared_text   a description of the tensors of these elements
--   schedule    false if the learning rate is constant, or { kind, warmup, final } with the values of the spec, where
--               `kind` is the name of the runtime's constant

local lists = require("base.lists")
local optimizers = require("spec.optimizers")

local M = {}

-- A description of the tensors to which weight decay does not apply, by the value of train.optimizer.decays.
local SPARED_TEXTS = {
  all = "tensors that are not learned",
  matrices = "tensors of one dimension, and those that are not learned",
}
local SCHEDULES = { constant = "LH_SCHEDULE_CONSTANT", linear = "LH_SCHEDULE_LINEAR", cosine = "LH_SCHEDULE_COSINE" }

-- Appends the ranges of a tensor's elements, one for each row, since elements of other tensors may lie between rows;
-- adjacent ranges are merged.
local function append_tensor(list, t)
  local rows, columns = t.rank == 2 and t.shape[1] or 1, t.shape[t.rank]
  for row = 0, rows - 1 do
    local first = t.offset + row * t.stride
    local range = list[#list]
    if range and range.last + 1 == first then
      range.last = first + columns - 1
    else
      list[#list + 1] = { first = first, last = first + columns - 1 }
    end
  end
end

-- Ranges of elements to which weight decay does not apply: tensors that are not learned, and with decays = "matrices"
-- also tensors of one dimension.
local function list_spared_ranges(plan, decays)
  local ranges, tensors = {}, lists.filter(plan.tensors, function(t)
    return not t.learned or decays == "matrices" and t.rank == 1
  end)
  table.sort(tensors, function(a, b) return a.offset < b.offset end)
  for _, t in ipairs(tensors) do
    append_tensor(ranges, t)
  end
  return ranges[1] and ranges or false
end

function M.derive(plan)
  local train = plan.resolved.train
  local settings, schedule = train.optimizer, train.schedule
  local optimizer = optimizers.by_name[settings.kind]
  local rule = optimizer.plan(settings)
  rule.kind, rule.title = settings.kind, rule.title or optimizer.title
  rule.spared = rule.decay and list_spared_ranges(plan, settings.decays)
  rule.spared_text = SPARED_TEXTS[settings.decays]
  return { optimizer = rule, schedule = schedule and { kind = SCHEDULES[schedule.kind], warmup = schedule.warmup or 0,
    final = schedule.final or 0 } or false }
end

return M
