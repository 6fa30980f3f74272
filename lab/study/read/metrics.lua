-- Metrics of a study's scores, and the score above which a seed generalises.
--
-- Input: a study as grid.expand returns it, or of runs found in a folder, with its cells read. Output: see each
-- function; M.of and M.NAMES are those of spec/measures.lua.

local lists = require("base.lists")
local measures = require("spec.measures")

local M = { of = measures.of, NAMES = measures.NAMES }

-- The decodings of generative models, in words before "evaluations" and "accuracy".
M.decodings = { greedy = "greedy", teacher_forced = "teacher-forced" }

-- Percentages above which a seed generalises: for the metric of a paper, and for exact match.
local PAPERS, EXACT = 90, 99

-- The known resolved specs of a cell: its own, or those in the folders of its runs.
local function is_generative(cell)
  if cell.spec and cell.spec.resolved then
    return measures.is_generative(cell.spec.resolved)
  end
  return lists.find(cell.runs, function(run) return measures.is_generative(run.facts.spec) end) ~= nil
end

-- Whether a study shows numbers from a paper, or its setting.
local function is_of_paper(study)
  return lists.find(study.report or {}, function(item)
    return type(item) == "table" and (item.published or item.setting)
  end) ~= nil
end

-- The default criterion of a study: 90% of the metric that a paper prints, 99% exact match otherwise.
local function default_criterion(study, metric)
  if is_of_paper(study) and M.of[metric].unit == "percent" then
    return { metric = metric, above = PAPERS }
  end
  return { metric = "exact_match", above = EXACT }
end

-- The study's `scored`, { split, select, metric, generalises }, completed by defaults; select is nil if no set is named
-- (chosen_rate.lua). asked: a metric that replaces the study's, whose criterion stays; nil for its own.
function M.scored(study, given, asked)
  local scored = { split = given.split or "test", select = given.select, metric = given.metric }
  -- Papers print accuracy; otherwise exact match counts for a model that answers token by token.
  scored.metric = scored.metric
    or not is_of_paper(study) and lists.find(study.cells, is_generative) and "exact_match" or "accuracy"
  scored.generalises = given.generalises or default_criterion(study, scored.metric)
  scored.metric = asked or scored.metric
  return scored
end

-- A criterion in words: "exact match above 99%".
function M.criterion_text(criterion)
  return ("%s above %g%%"):format(M.of[criterion.metric].title, criterion.above)
end

-- Whether a score of the criterion's metric, in percent, generalises; nil without a score.
function M.generalises(score, criterion)
  return score and score > criterion.above
end

-- Whether score a is better than b, which is a number or nil.
function M.is_better(metric, a, b)
  return not b or M.of[metric].higher and a > b or not M.of[metric].higher and a < b
end

return M
