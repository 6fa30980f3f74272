-- Metrics: the measures of a model's answers in lines of eval.jsonl, and the names of their scores.
--
-- A score is the mean of a metric over lines, times a factor. M.by_name has a table for each metric:
--   title     words for the middle of a sentence
--   unit      the unit of a score
--   factor    the factor of a score
--   form      the format of a score for string.format
--   is_higher_better   whether larger values are better
--   has_chance   whether the scores that a task states for guesses (`chance`) and for a simple predictor (`baseline`)
--                are values of this metric
-- M.NAMES has all names, first the metric by which generative models are scored; M.SHARES has the names of metrics in
-- percent.

local lists = require("base.lists")

local M = {}

M.NAMES = { "exact_match", "accuracy", "accuracy_teacher_forced", "loss" }

M.by_name = {
  exact_match = { title = "exact match", unit = "percent", factor = 100, form = "%.1f",
    is_higher_better = true, has_chance = false },
  accuracy = { title = "accuracy", unit = "percent", factor = 100, form = "%.1f",
    is_higher_better = true, has_chance = true },
  accuracy_teacher_forced = { title = "teacher-forced accuracy", unit = "percent", factor = 100, form = "%.1f",
    is_higher_better = true, has_chance = true },
  loss = { title = "loss", unit = "nats", factor = 1, form = "%.3f", is_higher_better = false, has_chance = false },
}

M.SHARES = lists.filter(M.NAMES, function(name) return M.by_name[name].unit == "percent" end)

-- Whether a model of this resolved spec answers token by token, because it also reads tokens of the target.
function M.is_generative(spec)
  local kind = spec and spec.model and spec.model.kind
  return kind == "decoder" or kind == "encoder_decoder"
end

return M
