-- The validation stream of a sampled task (eval.validation): examples at training lengths that are sampled for
-- validation alone.
--
-- Input: a resolved spec; the facts of its task. Output of M.plan: the lengths and numbers of examples of the stream.
-- Output of M.estimate_shares: the expected fractions of its inputs that also occur in training or in the final
-- evaluation because the task has few inputs.

local curriculum = require("spec.curriculum")
local lists = require("base.lists")
local locate = require("spec.reading.locate")
local resolved_text = require("spec.resolved")
local tasks = require("spec.task.tasks")

local M = {}

local DEFAULT_EXAMPLES = 128 -- examples per length, unless the spec states a number
local MAX_LENGTHS = 16 -- number of lengths, unless the spec states lengths

-- Chooses at most MAX_LENGTHS of an ascending list, evenly spread, including the first and the last.
local function choose_lengths(list)
  local count = #list
  if count <= MAX_LENGTHS then
    return list
  end
  local lengths = {}
  for i = 0, MAX_LENGTHS - 1 do
    lengths[i + 1] = list[1 + math.floor(i * (count - 1) / (MAX_LENGTHS - 1) + 0.5)]
  end
  return lengths
end

-- Returns the validation stream { lengths, examples }, an ascending list and the number of examples per length; nil for
-- a spec without validation, and for dataset files.
function M.plan(resolved)
  local fields, training_lengths = resolved.eval.validation or {}, resolved.train.lengths
  local examples = fields.examples or DEFAULT_EXAMPLES
  if not training_lengths or examples == 0 then
    return nil
  end
  local lengths = fields.lengths and tasks.list_lengths(fields.lengths)
    or choose_lengths(tasks.list_lengths(training_lengths))
  return { examples = examples, lengths = lengths }
end

-- The expected fraction of inputs that also occur among `other_inputs` further inputs, if all possible inputs are
-- equally likely. possible_inputs: the number of possible inputs. The true fraction is larger if only some of the
-- possible inputs occur. It is also larger if the inputs have different probabilities and other_inputs is much smaller
-- than possible_inputs.
local function compute_share(possible_inputs, other_inputs)
  -- Below max_linear_ratio, 1 - 1 / possible_inputs loses digits, and the linear term is exact enough.
  local ratio, max_linear_ratio = other_inputs / possible_inputs, 1e-6
  return ratio < max_linear_ratio and ratio or 1 - (1 - 1 / possible_inputs) ^ other_inputs
end

-- Estimates of the fractions of validation inputs that also occur in training and in the final evaluation, means over
-- the stream's lengths: { training, evaluation }. facts: the facts of the task (spec/task/tasks.lua).
function M.estimate_shares(resolved, facts)
  local validation, evaluated_lengths = M.plan(resolved), lists.to_set(tasks.list_lengths(resolved.eval.lengths))
  local train, training_lengths = resolved.train, tasks.list_lengths(resolved.train.lengths)
  local weights, total = curriculum.weigh(train.lengths.curriculum, training_lengths, train.steps)
  local training_inputs = {} -- the expected number of training inputs by length
  for i, n in ipairs(training_lengths) do
    training_inputs[n] = train.batch * train.steps * weights[i] / total
  end
  local shares = { training = 0, evaluation = 0 }
  for _, n in ipairs(validation.lengths) do
    local possible_inputs = (#facts.input_symbols) ^ tasks.compute_length(facts.input_length, n)
    local evaluation_inputs = evaluated_lengths[n] and resolved.eval.examples or 0
    shares.training = shares.training + compute_share(possible_inputs, training_inputs[n]) / #validation.lengths
    shares.evaluation = shares.evaluation + compute_share(possible_inputs, evaluation_inputs) / #validation.lengths
  end
  return shares
end

-- Reports errors of eval.validation. report: the functions of reports.lua.
function M.check(context, report)
  local resolved, facts = context.resolved, context.task
  local fields = resolved.eval.validation
  if not fields or not facts then
    return
  elseif facts.data and (fields.lengths or fields.examples ~= 0) then
    local task = facts.data.is_generated and "kind" or "data"
    return report.add({ "eval.validation", "eval.validation.lengths", "eval.validation.examples" }, {
      what = "cannot be used with a fixed set of examples",
      notes = { report.note("task." .. task, ("%q"):format(resolved.task[task])) },
      expected = "no such field; eval.splits and eval.during.splits name the validation set of this task" })
  end
  local is_training_length = lists.to_set(tasks.list_lengths(resolved.train.lengths))
  for i, n in ipairs(fields.lengths and tasks.list_lengths(fields.lengths) or {}) do
    if not is_training_length[n] then
      local path = "eval.validation.lengths"
      return report.add({ fields.lengths.list and locate.join(path .. ".list", i) or path, path }, {
        what = ("%d is not a training length"):format(n),
        notes = { report.note("train.lengths", resolved_text.format_value(resolved.train.lengths)) },
        expected = "some of train.lengths, since the choice of a learning rate must not depend on other lengths",
        hint = "lengths beyond training go into eval.lengths and eval.during.lengths" })
    end
  end
end

return M
