-- The rules of the best checkpoint (train.checkpoint.best) and of train.patience, which both need scores from
-- evaluations during training.
--
-- Input: the context of validate.lua; report, the functions of reports.lua. Output: errors, through report.

local diagnostics = require("base.diagnostics")
local lists = require("base.lists")
local resolved_text = require("spec.resolved")
local tasks = require("spec.task.tasks")

local M = {}

local FIELD = "train.checkpoint.best"

-- Refuses a spec without an evaluation during training.
local function refuse_without_evaluation(report)
  report.refuse(FIELD, "eval.during", "nothing", { what = "needs evaluations during training, which give the scores",
    expected = "eval.during", hint = "such as eval = { during = { every = 1000, lengths = { 1, 40 } } }" })
end

-- Checks that evaluations during training contain the validation set, for a task with files or sets of examples.
local function check_sets(facts, evaluation, report)
  local has_set = facts.data.validation or lists.find(facts.sets or {}, function(set) return set == "validation" end)
  local splits = evaluation.splits
  if not has_set then
    report.refuse(FIELD, "task.validation", "nothing", { what = "needs a validation set, whose examples give the score",
      expected = "task.validation, a file of examples; or no " .. FIELD })
  elseif splits and not lists.find(splits, function(split) return split == "validation" end) then
    report.refuse(FIELD, "eval.during.splits", diagnostics.show(splits), { what = "needs scores on the validation set",
      expected = '"validation" in eval.during.splits' })
  end
end

-- Checks that evaluations of a sampled task during training have at least one training length.
local function check_lengths(resolved, report)
  local lengths = resolved.eval.during.lengths
  local is_training_length = lists.to_set(tasks.list_lengths(resolved.train.lengths))
  if not lists.find(tasks.list_lengths(lengths), function(n) return is_training_length[n] end) then
    report.refuse(FIELD, "eval.during.lengths", resolved_text.format_value(lengths), {
      what = "needs evaluations at training lengths, which give the score",
      expected = "lengths of train.lengths in eval.during.lengths",
      hint = ("train.lengths = %s"):format(resolved_text.format_value(resolved.train.lengths)) })
  end
end

function M.check(context, report)
  local resolved, facts = context.resolved, context.task
  local best, evaluation = lists.get(resolved, FIELD), resolved.eval.during
  if resolved.train.patience and not best then
    report.refuse("train.patience", FIELD, "nothing", { what = "needs the score of the best checkpoint",
      expected = FIELD .. ', such as { metric = "accuracy" }' })
  elseif best and not evaluation then
    refuse_without_evaluation(report)
  elseif best and facts and facts.data then
    check_sets(facts, evaluation, report)
  elseif best and evaluation.lengths and resolved.train.lengths then
    check_lengths(resolved, report)
  end
end

return M
