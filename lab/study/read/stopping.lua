-- Rules that choose after how many passes a model with loops stops:
--   the number of passes in training
--   the oracle: a property of each example, such as its task length
--   confidence: the number of passes with the least uncertainty, for each length or for each example
--
-- Input: a run (runs.lua). Output: whether the run uses the oracle; evaluations of a split (evaluations.lua) with the
-- passes that confidence chooses.

local canonical = require("base.canonical")
local evaluation_lines = require("lab.study.read.evaluation_lines")
local lists = require("base.lists")
local run_files = require("lab.study.read.run_files")
local runs = require("lab.study.read.runs")

local M = {}

-- Whether the number of passes is each example's task length, or its value on an axis.
function M.uses_oracle(run)
  return type(lists.get(run.facts, "spec.model.loops.times")) == "string"
end

-- Returns { passes, evaluation } for each evaluated number of passes, ascending; nil unless there are several, all with
-- the same lengths.
local function list_levels(run, split)
  local levels = lists.map(runs.list_levels(run, "passes"), function(value)
    local evaluation = runs.get_level_evaluation(run, "passes", value, split)
    return evaluation and { passes = value, evaluation = evaluation }
  end)
  local first = levels[2] and levels[1].evaluation
  return first and not lists.any(levels, function(level)
    return #level.evaluation.lengths ~= #first.lengths
  end) and levels or nil
end

-- Returns the evaluation of a split that uses, for each length, the number of passes with the least uncertainty. This
-- choice needs no labels (Fan et al. 2024). Returns nil unless several numbers of passes were evaluated.
function M.choose_by_confidence(run, split)
  local candidates = lists.map(list_levels(run, split) or {}, function(level) return level.evaluation end)
  local first = candidates[1]
  local is_complete = first and not lists.any(candidates, function(evaluation)
    return not evaluation.uncertainty
      or lists.any(evaluation.uncertainty, function(value) return not tonumber(value) end)
  end)
  if not is_complete then
    return nil
  end
  local best_by_length = lists.map(first.lengths, function(_, i)
    local best = first
    for _, evaluation in ipairs(candidates) do
      best = tonumber(evaluation.uncertainty[i]) < tonumber(best.uncertainty[i]) and evaluation or best
    end
    return best
  end)
  local chosen = { split = split, lengths = first.lengths, totals = first.totals, is_weighted = first.is_weighted,
    uncounted = first.uncounted }
  for _, name in ipairs({ "counts", "accuracy", "accuracy_teacher_forced", "exact_match", "loss" }) do
    chosen[name] = first[name] and lists.map(best_by_length, function(evaluation, i) return evaluation[name][i] end)
  end
  return chosen
end

-- Returns rows of eval.jsonl, without rows on further axes: { [passes] = { [number on the run's first axis] = row } }.
-- levels: from list_levels.
local function read_rows(run, levels)
  local rows, evaluations = {}, {}
  for _, level in ipairs(levels) do
    rows[level.passes], evaluations[level.passes] = {}, level.evaluation
  end
  runs.read_rows(run, {}, function(row)
    local evaluation = evaluations[row.by and row.by.passes]
    local has_other_axes = lists.any(canonical.sort_keys(row.by or {}), function(name)
      return name ~= run.axis and name ~= "passes"
    end)
    if evaluation and not has_other_axes and row.split == evaluation.split and row.step == evaluation.step
      and row.decoding == run.decoding and row.by[run.axis] then
      rows[row.by.passes][row.by[run.axis]] = row
    end
  end)
  return rows
end

-- Sums the results of all examples of a length, each at the number of passes with the example's least uncertainty; of
-- equal uncertainties, the fewest passes count. Returns
--   counted     the number of labels that count
--   correct     the number of counted labels with right answers
--   sequences   the number of sequences with counted labels
--   exact       the number of sequences whose counted labels all have right answers
-- or nil if a number of passes lacks results of single examples, or if the counts of examples differ;
-- or nil and a problem if the results are damaged.
local function sum_answers(levels, rows, length)
  local best
  for _, level in ipairs(levels) do
    local row = rows[level.passes][length]
    if not row or not row.by_example then
      return nil
    end
    local results, problem = evaluation_lines.decode(row, "by_example")
    if problem or best and #best.uncertainty ~= #results.uncertainty then
      return nil, problem
    end
    best = best or results
    for i, uncertainty in ipairs(results.uncertainty) do
      if uncertainty < best.uncertainty[i] then
        best.uncertainty[i], best.correct[i], best.counted[i] = uncertainty, results.correct[i], results.counted[i]
      end
    end
  end
  local sums = { correct = 0, counted = 0, sequences = 0, exact = 0 }
  for i, counted in ipairs(best.counted) do
    sums.correct, sums.counted = sums.correct + best.correct[i], sums.counted + counted
    sums.sequences = sums.sequences + (counted > 0 and 1 or 0)
    sums.exact = sums.exact + (counted > 0 and best.correct[i] == counted and 1 or 0)
  end
  return sums
end

-- Returns the evaluation of a split, without losses, that uses, for each example of each draw, the number of passes
-- with the example's least uncertainty. Returns nil unless several numbers of passes were evaluated, all with results
-- of single examples. If these results are damaged, sets run.damaged and adds a message to run.notes.
function M.choose_by_example(run, split)
  local levels = not run.damaged and list_levels(run, split)
  if not levels then
    return nil
  end
  local first, rows, sums = levels[1].evaluation, read_rows(run, levels), {}
  for i, length in ipairs(first.lengths) do
    local problem
    sums[i], problem = sum_answers(levels, rows, length)
    if problem then
      runs.note_damage(run, run_files.format_problem(("eval.jsonl: %s %g"):format(run.axis, length), problem))
    end
    if not sums[i] then
      return nil
    end
  end
  local function list_shares(count_name, total_name)
    return lists.map(sums, function(sum) return sum[total_name] > 0 and sum[count_name] / sum[total_name] or "" end)
  end
  return { split = split, lengths = first.lengths, counts = first.counts, totals = first.totals,
    is_weighted = first.is_weighted, uncounted = first.uncounted, exact_match = list_shares("exact", "sequences"),
    [run.decoding and "accuracy_teacher_forced" or "accuracy"] = list_shares("correct", "counted") }
end

return M
