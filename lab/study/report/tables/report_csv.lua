-- The runs of a report and their results, as two tidy CSV files: runs.csv has a line per run; report.csv has a line per
-- run, split and length. If an evaluation is by another axis, the column `length` has values of this axis. The column
-- `axis` has its name.
--
-- Input: a study with the results of its cells (cells.lua). Output: files for write.files, which are written line by
-- line.

local captions = require("lab.study.report.tables.captions")
local cost = require("lab.study.report.tables.cost")
local csv = require("lab.study.report.tables.csv")
local evaluations = require("lab.study.read.evaluations")
local lists = require("base.lists")
local novel_shares = require("lab.study.report.tables.novel_shares")
local runs = require("lab.study.read.runs")
local seeds = require("lab.study.read.seeds")

local M = {}

local RUN_COLUMNS = lists.append({ "state", "step", "metric", "split", "score", "best_step", "best_score", "chosen",
  "chosen_on", "decoding", "parameters", "tokens", "flops", "train_seconds", "id", "digest", "folder" }, runs.SIZES)
local LENGTH_COLUMNS = lists.append(lists.join({ "step", "split", "length", "examples", "draws", "decoding" },
  evaluations.MEASURES), { "axis", "novel_positions", "novel_distances", "novel_keys",
    "seen_sequences", "seen_labels", "seen_tokens" })

local FIRST_COLUMNS = lists.append(lists.join({ "seed" }, seeds.COLUMNS), { "learning_rate" })

-- Makes a line: the study, the values on its axes, seeds and learning rate of the run, and the text of further fields.
function M.make_line(study, cell, run, fields)
  local values = lists.map(study.axes, function(axis) return csv.format_field(cell.key[axis.name]) end)
  return table.concat(lists.append(lists.join({ csv.format_field(study.name) }, values), {
    csv.format_line(lists.merge(run, seeds.list_columns(run)), FIRST_COLUMNS), fields }), ",") .. "\n"
end

function M.make_head(study, columns)
  local axes = lists.map(study.axes, function(axis) return csv.format_field(axis.name) end)
  local first_columns = lists.append(lists.join({ "study" }, axes), FIRST_COLUMNS)
  return table.concat(lists.join(first_columns, columns), ",") .. "\n"
end

-- Returns the fields of a run's score; only the metric for a run without score. chosen: 1 for a run at the chosen rate;
-- chosen_on: the set that chose the rate.
local function list_score(study, cell, run)
  local best = cell.summary.best_rate
  if not run.score then
    return { metric = study.scored.metric }
  end
  local run_cost = cost.compute(study, cell, run)
  return { metric = study.scored.metric, split = runs.get_evaluation(run, study.scored.split).split, score = run.score,
    best_step = run.best and run.best.step,
    best_score = runs.get_best_score(run, study.scored.split, study.scored.metric),
    chosen = best and lists.has(best.runs, run) and 1 or 0, chosen_on = captions.name_chosen(cell),
    flops = run_cost.flops, parameters = run_cost.parameters,
    tokens = run_cost.tokens and ("%.0f"):format(run_cost.tokens) }
end

local function format_run(study, cell, run)
  local seconds = run.facts.train_seconds
  return M.make_line(study, cell, run, csv.format_line(lists.merge(runs.get_size(run), list_score(study, cell, run),
    { state = run.state, step = run.test and run.test.step, decoding = run.decoding, train_seconds = seconds
    and ("%.3f"):format(seconds), id = run.id or cell.id, digest = run.digest, folder = run.dir }), RUN_COLUMNS))
end

-- Returns the sequences, labels and tokens of training by length, from run.json; {} unless the task is a sampled one.
local function index_training_counts(run)
  return lists.index_by(run.axis == "length" and run.facts.seen or {}, function(entry) return entry[1] end)
end

local function format_evaluation(study, cell, run, evaluation)
  local training_counts = index_training_counts(run)
  local shares = run.axis == "length" and novel_shares.find(study, cell) or {}
  return table.concat(lists.map(evaluation.lengths, function(length, i)
    local row = { step = evaluation.step, split = evaluation.split, length = length, examples = evaluation.counts[i],
      draws = evaluation.draws, decoding = evaluation.decoding, axis = run.axis }
    for _, name in ipairs(evaluations.MEASURES) do
      row[name] = evaluation[name] and evaluation[name][i]
    end
    for name, share in pairs(shares[length] or {}) do
      row["novel_" .. name] = share
    end
    local counts = training_counts[length] or next(training_counts) and { 0, 0, 0, 0 } or {}
    row.seen_sequences, row.seen_labels, row.seen_tokens = counts[2], counts[3], counts[4]
    return M.make_line(study, cell, run, csv.format_line(row, LENGTH_COLUMNS))
  end))
end

-- Makes a file of the lines that format_lines(cell, run) returns for each run.
function M.make_file(path, head, study, format_lines)
  return { path = path, write = function(file)
    local ok, message = file:write(head)
    for cell, run in lists.iterate_nested(study.cells, "runs") do
      if ok then
        ok, message = file:write(format_lines(cell, run))
      end
    end
    return ok, message
  end }
end

function M.make_runs_file(study)
  return M.make_file("runs.csv", M.make_head(study, RUN_COLUMNS), study, function(cell, run)
    return format_run(study, cell, run)
  end)
end

function M.make_files(study)
  return {
    M.make_runs_file(study),
    M.make_file("report.csv", M.make_head(study, LENGTH_COLUMNS), study, function(cell, run)
      local run_evaluations = lists.drop_repeats(lists.map(evaluations.SPLITS, function(name) return run[name] end))
      return table.concat(lists.map(run_evaluations, function(evaluation) return format_evaluation(study, cell, run,
        evaluation) end))
    end),
  }
end

return M
