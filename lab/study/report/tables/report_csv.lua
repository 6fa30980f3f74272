-- All data that a report read, as two tidy CSV files: runs.csv has a line per run; report.csv has a line per run and
-- length, or per run and number on the axis that the last column names.
--
-- Input: a study with its cells read. Output: files for write.files, which are written line by line.

local captions = require("lab.study.report.tables.captions")
local cost = require("lab.study.report.tables.cost")
local evaluations = require("lab.study.read.evaluations")
local lists = require("base.lists")
local runs = require("lab.study.read.runs")
local escape = require("base.escape")

local M = {}

local RUN_COLUMNS = lists.append({ "seed", "learning_rate", "state", "step", "metric", "split", "score", "chosen",
  "chosen_on", "decoding", "parameters", "tokens", "flops", "train_seconds", "id", "digest", "folder" },
  runs.SIZES)
-- Measures in lines of eval.jsonl, in the order of their columns.
local MEASURES = { "accuracy", "accuracy_teacher_forced", "exact_match", "exact_match_low", "exact_match_high",
  "ended_early", "not_ended", "loss", "sd_over_sequences" }
local LENGTH_COLUMNS = lists.append(lists.join({ "seed", "learning_rate", "step", "split", "length", "examples",
  "draws", "decoding" }, MEASURES), { "axis" })

local function number(value, form)
  return value and form:format(value) or ""
end

-- The first fields of a line: the study, the values on its axes, seed and learning rate.
function M.front(study, cell, run)
  local place = lists.map(study.axes, function(axis) return escape.csv(cell.key[axis.name] or "") end)
  return table.concat(lists.append(lists.join({ escape.csv(study.name or "") }, place), { number(run.seed, "%d"),
    number(run.learning_rate, "%.9g") }), ",")
end

-- The first line of a file, which begins with the names of the fields from M.front.
function M.head(study, columns)
  local axes = lists.map(study.axes, function(axis) return escape.csv(axis.name) end)
  return table.concat(lists.append(lists.join({ "study" }, axes), columns), ",") .. "\n"
end

-- Fields of a run's score: the metric, the set, the score, whether the run has the chosen rate, and the set on which
-- the rate was chosen; all but the metric are empty without a score.
local function score_fields(study, cell, run)
  local evaluation, best = runs.evaluation(run, study.scored.split), cell.summary.best
  if not run.score then
    return { study.scored.metric, "", "", "", "" }
  end
  local chosen = best ~= nil and lists.has(best.runs, run)
  return { study.scored.metric, evaluation.split, number(run.score, "%.9g"), chosen and "1" or "0",
    captions.chosen_set(cell) or "" }
end

local function run_line(study, cell, run)
  local taken = run.score and cost.of(study, cell, run) or {}
  local fields = lists.join({ M.front(study, cell, run), run.state, number(run.test and run.test.step, "%d") },
    score_fields(study, cell, run))
  lists.append(fields, { run.decoding or "", number(taken.parameters, "%d"),
    number(taken.tokens, "%.0f"), number(taken.flops, "%.9g"), number(run.facts.train_seconds, "%.3f"),
    escape.csv(run.id or cell.id), run.digest or "", escape.csv(run.dir) })
  local size = runs.size(run)
  lists.append(fields, lists.map(runs.SIZES, function(name) return number(size[name], "%d") end))
  return table.concat(fields, ",") .. "\n"
end

-- The lines of one evaluation as one text.
local function length_lines(study, cell, run, evaluation)
  local front = ("%s,%d,%s,"):format(M.front(study, cell, run), evaluation.step, evaluation.split)
  local lines, counts, decoding = {}, evaluation.counts, evaluation.decoding or ""
  for i, length in ipairs(evaluation.lengths) do
    local values = lists.map(MEASURES, function(name)
      local value = evaluation[name] and evaluation[name][i] or ""
      return type(value) == "number" and ("%.9g"):format(value) or value
    end)
    lines[i] = ("%s%d,%d,%d,%s,%s,%s\n"):format(front, length, counts[i], evaluation.draws, decoding,
      table.concat(values, ","), run.axis)
  end
  return table.concat(lines)
end

-- A file with one or several lines for each run.
function M.file(path, head, study, line_of)
  return { path = path, write = function(file)
    local ok, message = file:write(head)
    for cell, run in lists.nested(study.cells, "runs") do
      if ok then
        ok, message = file:write(line_of(cell, run))
      end
    end
    return ok, message
  end }
end

function M.runs(study)
  return M.file("runs.csv", M.head(study, RUN_COLUMNS), study, function(cell, run)
    return run_line(study, cell, run)
  end)
end

function M.files(study)
  return {
    M.runs(study),
    M.file("report.csv", M.head(study, LENGTH_COLUMNS), study, function(cell, run)
      local made = lists.distinct(lists.map(evaluations.SPLITS, function(name) return run[name] end))
      return table.concat(lists.map(made, function(evaluation) return length_lines(study, cell, run, evaluation) end))
    end),
  }
end

return M
