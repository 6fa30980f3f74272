-- Metrics of a study's scores, and the score above which a seed counts as generalising.
--
-- Input: scores, or a study whose cells have been read (cells.lua). M.by_name, M.NAMES and M.SHARES come from
-- spec/measures.lua. Output: the study's `scored`, a table:
--   split         the set whose scores are reported
--   select        the set that decides the learning rate, nil if the study names none
--   metric        the metric of scores
--   generalises   the criterion { metric, above }: a seed generalises if its score is above `above`

local lists = require("base.lists")
local measures = require("spec.measures")

local M = { by_name = measures.by_name, NAMES = measures.NAMES, SHARES = measures.SHARES }

-- Words for decodings, to be written before "evaluations" or "accuracy".
M.decodings = { greedy = "greedy", teacher_forced = "teacher-forced" }

-- The default criterion: a seed generalises above this percentage.
local PAPER_PERCENT = 90 -- for a study that refers to a paper: in the study's metric
local EXACT_PERCENT = 99 -- for other studies: in exact match

-- Whether the models of a cell are generative: by the cell's own spec, or else by the specs of its runs.
local function is_generative(cell)
  if cell.spec and cell.spec.resolved then
    return measures.is_generative(cell.spec.resolved)
  end
  return lists.find(cell.runs, function(run) return measures.is_generative(lists.get(run, "facts.spec")) end) ~= nil
end

-- Whether a study shows a paper's numbers or compares its settings with a paper's.
local function refers_to_paper(study)
  return lists.find(study.report or {}, function(item)
    return type(item) == "table" and (item.published or item.setting)
  end) ~= nil
end

-- Returns the default criterion, { metric, above }.
local function choose_criterion(study, metric)
  if refers_to_paper(study) and M.by_name[metric].unit == "percent" then
    return { metric = metric, above = PAPER_PERCENT }
  end
  return { metric = "exact_match", above = EXACT_PERCENT }
end

-- Returns the default metric of a study that refers to no paper.
function M.choose_metric(cells)
  return lists.find(cells, is_generative) and "exact_match" or "accuracy"
end

-- Returns a study's `scored` with defaults. settings: fields that the study sets. requested_metric: another metric, or
-- nil.
function M.complete_scored(study, settings, requested_metric)
  local default_metric = refers_to_paper(study) and "accuracy" or M.choose_metric(study.cells) -- papers print accuracy
  local study_metric = settings.metric or default_metric
  return { split = settings.split or "test", select = settings.select, metric = requested_metric or study_metric,
    generalises = settings.generalises or choose_criterion(study, study_metric) }
end

-- Whether a value is a criterion, as a study file may set it.
function M.is_criterion(value)
  return type(value) == "table" and lists.has(M.SHARES, value.metric) and type(value.above) == "number"
    and value.above > 1 and value.above < 100
end

-- A criterion as text: "exact match above 99%".
function M.format_criterion(criterion)
  return ("%s above %g%%"):format(M.by_name[criterion.metric].title, criterion.above)
end

-- Whether a run with this score generalises; nil without a score.
function M.generalises(score, criterion)
  return score and score > criterion.above
end

-- Whether the score a is better than b, both of this metric; true if b is nil.
function M.is_better(metric, a, b)
  if not b then
    return true
  elseif M.by_name[metric].is_higher_better then
    return a > b
  end
  return a < b
end

return M
