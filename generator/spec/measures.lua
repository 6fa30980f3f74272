-- Metrics: the measures of a model's answers in lines of eval.jsonl, and the names of their scores.
--
-- M.by_name has a table { title, unit, factor, form, higher, guessed } for each metric. title: words for the middle of
-- a sentence; unit: of a score, which is the mean of the metric over lines, times factor; form: format of a score for
-- string.format; higher: whether larger values are better; guessed: whether a task's chance and baseline are values of
-- this metric. M.NAMES: all names, first the metric by which generative models are scored; M.SHARES: names of metrics
-- in percent.

local lists = require("base.lists")

local M = {}

M.NAMES = { "exact_match", "accuracy", "accuracy_teacher_forced", "loss" }

M.by_name = {
  exact_match = { title = "exact match", unit = "percent", factor = 100, form = "%.1f",
    higher = true, guessed = false },
  accuracy = { title = "accuracy", unit = "percent", factor = 100, form = "%.1f", higher = true, guessed = true },
  accuracy_teacher_forced = { title = "teacher-forced accuracy", unit = "percent", factor = 100, form = "%.1f",
    higher = true, guessed = true },
  loss = { title = "loss", unit = "nats", factor = 1, form = "%.3f", higher = false, guessed = false },
}

M.SHARES = lists.filter(M.NAMES, function(name) return M.by_name[name].unit == "percent" end)

-- Whether a model of this resolved spec answers token by token, because its stream holds the target.
function M.is_generative(spec)
  local kind = spec and spec.model and spec.model.kind
  return kind ~= nil and kind ~= "encoder"
end

return M
