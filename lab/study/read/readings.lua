-- Readings that a run used: choices where a paper and its released code differ, or where a paper leaves a choice open.
--
-- Input: a run (runs.lua). Output: a list of { question, answer }, in a fixed order, for the questions that the run's
-- spec raises. A field that an older run's spec lacks counts as its default or raises no question (docs/reports.md).

local lists = require("base.lists")
local wording = require("base.wording")

local get = lists.get

local M = {}

M.TITLE = "Readings (interpretations) that the runs used, where papers leave a choice open or code differs"

local function is_randomized(spec)
  return get(spec, "encoding.positions.kind") == "randomized"
end

-- Answers by the value of a field.
local DISTANCES = { drawn = "two-sided, signed by the order of the tokens", clamped = "clamped to one side",
  difference = "differences of the drawn positions" }
local DRAWS = { pass = "once per pass", layer = "once per layer" }
local SIDES = { mirrored = "the same as to the right", independent = "sampled separately" }
local RANGES = { zero_based = "from 0", one_based = "from 1" }
local USUAL_RANGE = "from 0 for drawn positions, from 1 for drawn distances"

-- Formats a field of lengths, { first, last, step } or { list }; returns nil for nil.
function M.format_lengths(field)
  if not field or field.list then
    return field and table.concat(field.list, ", ")
  end
  return ("%d to %d"):format(field.first, field.last)
    .. ((field.step or 1) > 1 and (" in steps of %d"):format(field.step) or "")
end

local LOSSES = { all = "all labels, including masked ones", counted = "labels that count (mask 1)" }

local function format_value(value, words)
  return value and (words and words[value] or tostring(value)) or nil
end

-- Whether the spec raises the question of a spare token, an unused row of the token embedding. For recurrent models,
-- the answer is always "none".
local function has_choice_of_spare_token(spec)
  local model = get(spec, "model") or {}
  local reads_empty_tokens = (model.kind or "encoder") == "encoder" and (model.readout or "outputs") == "outputs"
  return reads_empty_tokens and model.embedding ~= "linear" and (get(spec, "task.computation") or 0) == 0
    or model.kind == "recurrent"
end

-- Each function takes a spec and the facts of run.json. It returns the answer; nil or false if there is no question.
local QUESTIONS = {
  { "randomized distances", function(spec)
    local uses_distances = (get(spec, "encoding.relative.kind") or "none") ~= "none" or get(spec, "encoding.score")
    return is_randomized(spec) and uses_distances
      and format_value(get(spec, "encoding.positions.reading") or "drawn", DISTANCES)
  end },
  { "distances to the left", function(spec)
    return is_randomized(spec) and format_value(get(spec, "encoding.positions.sides"), SIDES)
  end },
  { "positions are drawn", function(spec)
    return is_randomized(spec) and format_value(get(spec, "encoding.positions.draw"), DRAWS)
  end },
  { "range of the draws", function(spec)
    return is_randomized(spec) and ("up to %s, %s%s"):format(get(spec, "encoding.positions.max_position"),
      format_value(get(spec, "encoding.positions.range"), RANGES) or USUAL_RANGE,
      get(spec, "encoding.positions.sorted") == false and ", unsorted" or "")
  end },
  { "rows of a learned table", function(spec) return format_value(get(spec, "encoding.additive.rows")) end },
  { "dropout in evaluation", function(spec) return get(spec, "eval.dropout") and "on" or "off" end },
  { "lengths evaluated", function(spec) return M.format_lengths(get(spec, "eval.lengths")) end },
  { "evaluation batch", function(spec)
    local examples, batch = get(spec, "eval.examples"), get(spec, "eval.batch")
    return examples and (batch and ("batches of %s, %s examples per length"):format(batch, examples)
      or ("one batch of %s per length"):format(examples))
  end },
  { "order of the outputs", function(spec)
    local order = format_value(get(spec, "task.options.order"))
    return order and order:gsub("_", " ")
  end },
  { "labels in the loss", function(_, facts)
    -- Examples of files without masked labels do not raise the question.
    return not (facts.data and not facts.data.train_masked) and LOSSES[facts.loss]
  end },
  { "spare token", function(spec)
    return has_choice_of_spare_token(spec)
      and ((get(spec, "model.spare_token") == false or get(spec, "model.kind") == "recurrent") and "none" or "one")
  end },
  { "training steps", function(spec) return format_value(get(spec, "train.steps")) end },
  { "arithmetic", function(spec) return spec.precision or "float32" end },
}

-- Returns the readings of a run. Flags may override the spec's training steps, so the step of the evaluated checkpoint
-- is preferred.
function M.list(run)
  local spec = run.facts.spec
  return lists.map(spec and QUESTIONS or {}, function(question)
    local answer = question[1] == "training steps" and run.test and ("%d"):format(run.test.step)
      or question[2](spec, run.facts)
    return answer and { question = question[1], answer = answer } or nil
  end)
end

-- Returns the readings of several runs as a list of { question, text }. text: the answers, each with its number of
-- runs, the most frequent first. Only runs of built-in tasks count, since only these are in papers.
function M.count_answers(list)
  local readings = lists.collect(lists.filter(list, function(run) return get(run.facts, "spec.task.kind") end), M.list)
  return lists.map(QUESTIONS, function(question)
    local matching = lists.filter(readings, function(item) return item.question == question[1] end)
    local answers = lists.group(matching, function(item) return item.answer end)
    table.sort(answers, function(a, b) return #a > #b or #a == #b and a.key < b.key end)
    return answers[1] and { question = question[1], text = table.concat(lists.map(answers, function(group)
      return ("%s (%s)"):format(group.key, wording.count(#group, "run"))
    end), "; ") }
  end)
end

return M
