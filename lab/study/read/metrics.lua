-- Which metric the scores of a study are of, and from which score on a seed generalises.
--
-- Input: a study as grid.expand returns it, or of runs found in a folder, with its cells read. Output: see each
-- function; M.of and M.NAMES are those of spec/measures.lua.

local measures = require("spec.measures")

local M = { of = measures.of, NAMES = measures.NAMES }

-- How answers of generative models come about, before "evaluations" and "accuracy".
M.decodings = { greedy = "greedy", teacher_forced = "teacher-forced" }

-- Above so many percent a seed generalises: of the metric of a paper, and of exact match.
local PAPERS, EXACT = 90, 99

-- The resolved specs that are known of a cell: its own, or those in the folders of its runs.
local function is_generative(cell)
  if cell.spec and cell.spec.resolved then
    return measures.is_generative(cell.spec.resolved)
  end
  for _, run in ipairs(cell.runs) do
    if measures.is_generative(run.facts.spec) then
      return true
    end
  end
  return false
end

-- Whether a study shows numbers that a paper prints, or its setting.
local function is_of_paper(study)
  for _, item in ipairs(study.report or {}) do
    if type(item) == "table" and (item.published or item.setting) then
      return true
    end
  end
  return false
end

-- The metric of a study that names none: the accuracy that papers print; otherwise exact match where a model answers
-- token by token, and accuracy where none does.
local function default_metric(study)
  for _, cell in ipairs(is_of_paper(study) and {} or study.cells) do
    if is_generative(cell) then
      return "exact_match"
    end
  end
  return "accuracy"
end

-- The criterion of a study that names none: 90% of the metric that a paper prints, 99% exact match otherwise.
local function default_criterion(study, metric)
  if is_of_paper(study) and M.of[metric].unit == "percent" then
    return { metric = metric, above = PAPERS }
  end
  return { metric = "exact_match", above = EXACT }
end

-- The study's `scored`, { split, select, metric, generalises }, with what it leaves open filled in; select stays nil
-- where no set is named (chosen_rate.lua). asked: a metric in the place of the study's, whose criterion stays; nil for
-- its own.
function M.scored(study, given, asked)
  local scored = { split = given.split or "test", select = given.select, metric = given.metric }
  scored.metric = scored.metric or default_metric(study)
  scored.generalises = given.generalises or default_criterion(study, scored.metric)
  scored.metric = asked or scored.metric
  return scored
end

-- A criterion in words: "exact match above 99%".
function M.criterion_text(criterion)
  return ("%s above %g%%"):format(M.of[criterion.metric].title, criterion.above)
end

-- Whether a score of the criterion's metric, in percent, generalises; nil of none.
function M.generalises(score, criterion)
  if not score then
    return nil
  end
  return score > criterion.above
end

-- Whether score a is better than b, which is a number or nil.
function M.is_better(metric, a, b)
  if not b then
    return true
  end
  return M.of[metric].higher and a > b or not M.of[metric].higher and a < b
end

return M
