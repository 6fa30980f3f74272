-- Captions of scores: the lengths or conditions of a mean, the decoding, the examples that chose the learning rate.
--
-- Input: a study with the results of its cells (cells.lua), or a part of a study. Output: sentences, or parts of
-- sentences.

local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local runs = require("lab.study.read.runs")
local stopping = require("lab.study.read.stopping")

local M = {}

-- Phrases for the examples of an evaluation, by its split: for sampled tasks, and for dataset files.
local SAMPLED = { beyond = "beyond training", between = "between training lengths",
  in_distribution = "at training lengths (in_distribution)", validation = "on the validation stream (in_distribution)",
  test = "on the set test", train = "on the set train" }
local DATASET = { test = "on the set test", train = "on the set train", validation = "on the set validation",
  in_distribution = "on the part in_distribution of the set test",
  beyond = "on the part beyond training of the set test" }

-- Returns a phrase on the examples of an evaluation, such as "beyond training".
function M.name_examples(run, evaluation)
  local texts = runs.has_sets(run) and DATASET or SAMPLED
  return texts[evaluation.split] or "on " .. evaluation.split
end

-- Joins the different texts that describe(run, cell) returns for the runs with a score; nil without a text.
local function join_scored(study, describe)
  local texts = {}
  for cell, run in lists.iterate_nested(study.cells, "runs") do
    texts[#texts + 1] = run.score and describe(run, cell) or nil
  end
  return texts[1] and table.concat(lists.drop_repeats(texts), " or ") or nil
end

-- Returns a text on the study's grid, such as "mean over 9 lengths 60..500, beyond training"; nil without scores.
function M.name_grid(study)
  local usual_grid, has_other_grids = study.usual_grid, false
  local examples = join_scored(study, function(run, cell)
    has_other_grids = has_other_grids or cell.summary.grid.key ~= usual_grid.key
    return M.name_examples(run, runs.get_evaluation(run, study.scored.split))
  end)
  return examples and ("%s, %s%s"):format(usual_grid.text, examples, has_other_grids
    and "; cells of another grid are marked" or "") or nil
end

-- Returns nil for models that are not generative.
local function describe_run_decoding(run, metric)
  if not run.decoding then
    return nil
  elseif run.decoding == "teacher_forced" or metric == "accuracy_teacher_forced" or metric == "loss" then
    return "evaluated teacher-forced: the model reads the target's tokens"
  end
  return "greedy answers, " .. (run.test and run.test.ended_early and "ended by the model" or "answer length given")
end

-- Returns a text such as "greedy answers, ended by the model"; nil if no scored model is generative.
function M.describe_decoding(study)
  return join_scored(study, function(run) return describe_run_decoding(run, study.scored.metric) end)
end

-- Whether any scored model is generative.
function M.is_generative(study)
  return M.describe_decoding(study) ~= nil
end

-- Returns nil if no run uses the oracle.
function M.name_stopping(study)
  return join_scored(study, function(run)
    local times = stopping.uses_oracle(run) and run.facts.spec.model.loops.times
    return times and "stopped by the oracle: as many passes as " .. (times == "length" and "the task length"
      or "the number on the axis " .. times) or nil
  end)
end

-- Returns the evaluation by which a cell's learning rate was chosen; nil without several rates.
local function find_deciding_evaluation(cell)
  local choice, run = cell.summary.choice, cell.summary.best_run
  return run and choice.rate_count > 1 and runs.get_evaluation(run, choice.set) or nil
end

-- Returns the words for the caption after "learning rate chosen"; nil without a choice.
local function describe_choice(cell)
  local choice, evaluation = cell.summary.choice, find_deciding_evaluation(cell)
  if not evaluation then
    return nil
  elseif choice.is_scored then
    return choice.is_beyond and "on the scored examples, beyond training" or "on the scored examples themselves"
  end
  local is_beyond = choice.is_beyond and not evaluation.split:find("^beyond")
  return M.name_examples(cell.summary.best_run, evaluation) .. (is_beyond and ", beyond training" or "")
end

-- Returns the set by which a cell's learning rate was chosen, marked if it is beyond training or is the scored set; nil
-- without a choice.
function M.name_chosen(cell)
  local choice, evaluation = cell.summary.choice, find_deciding_evaluation(cell)
  return evaluation and evaluation.split .. (choice.is_beyond and evaluation.split ~= "beyond" and " (beyond training)"
    or "") .. (choice.is_scored and " (scored)" or "")
end

function M.name_rates(study)
  local texts = lists.drop_repeats(lists.map(study.cells, describe_choice))
  return texts[1] and ("learning rate chosen %s, by the best mean over seeds"):format(table.concat(texts, " or "))
    or lists.find(study.cells, function(cell) return cell.summary.best_run end) and "one learning rate for each cell"
    or nil
end

-- Joins texts, except nil, false and empty ones, as sentences with a capital and a full stop; nil without a text.
function M.join(...)
  local parts = {}
  for i = 1, select("#", ...) do
    local text = select(i, ...)
    parts[#parts + 1] = text and text ~= "" and text:gsub("^%l", string.upper):gsub("[^.]$", "%0.") or nil
  end
  return #parts > 0 and table.concat(parts, " ") or nil
end

-- Returns all sentences on a table of scores; nil without scores. has_chosen_rate: whether the scores are at the chosen
-- learning rate.
function M.describe(study, has_chosen_rate)
  return M.join(M.name_grid(study), M.describe_decoding(study), M.name_stopping(study),
    has_chosen_rate and M.name_rates(study))
end

-- Returns the criterion of generalisation as a text: "a run generalises with exact match above 99%".
function M.name_criterion(study)
  return "a run generalises with " .. metrics.format_criterion(study.scored.generalises)
end

return M
