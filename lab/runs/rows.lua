-- Runs as rows of a table, with a field for each fact that conditions on runs may name.
--
-- Input: a folder of runs, or a folder within it (of a spec, of a plan, of one run). Output of M.read, or nil and a
-- message if there are no runs:
--   root      the folder of all runs
--   rows      a row for each run, with the fields in M.FIELDS, nil if unknown, and `run`, the run as
--             lab/study/read/runs.lua reads it
--   problems  messages about unreadable folders
-- Writes no file.

local cells = require("lab.study.read.cells")
local ledger = require("lab.study.run.ledger")
local lfs = require("lfs")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local paths = require("base.paths")
local run_files = require("lab.study.read.run_files")
local runs = require("lab.study.read.runs")
local seeds = require("lab.study.read.seeds")
local swept_cells = require("lab.runs.swept_cells")
local write = require("base.write")

local M = {}

-- The fields of a row, in the order in which they are shown.
--   steps                the number of trained steps
--   score                the mean of `metric`, in its unit, over the last evaluation of `split`; without lengths that
--                        only `trainer eval` has added to those of the spec
--   best_step            the step of the best checkpoint, if the run keeps it
--   best_score           the score of the best checkpoint
--   exit                 the trainer's exit code
--   started, ended       times in UTC, such as 2026-11-27T08:00:00Z
--   bytes                the size of the files in the run's folder, without the files in its subfolders
-- If a run has no score yet, then metric, split, score, best_step and best_score are nil.
M.FIELDS = { "path", "id", "digest", "task", "encoding", "model", "layers", "width", "heads", "parameters", "seed",
  "seed_init", "seed_data", "seed_draws", "learning_rate", "steps", "metric", "split", "score", "best_step",
  "best_score", "state", "exit", "device", "machine", "started", "ended", "bytes" }

local function count_bytes(dir)
  return lists.sum(write.list_names(dir), function(name)
    return lfs.symlinkattributes(dir .. "/" .. name, "size") or 0
  end)
end

-- Returns the names of encodings in the studies that were swept here, by "<id>/<digest>" of their cells.
local function read_encodings(root)
  local names = {}
  -- This function returns nothing, so `find` calls it for every cell.
  swept_cells.find(root, function(_, cell) names[cell.id .. "/" .. cell.digest] = cell.key.encoding end)
  return names
end

-- Returns the set of the lengths that the run's spec evaluates, if the evaluation has some of them; `trainer eval` may
-- have added other lengths. Returns nil for other evaluations, and for validation, which has its own lengths.
local function find_own_lengths(run, evaluation)
  local is_by_length = run.axis == "length" and not runs.has_sets(run) and evaluation.split ~= "validation"
  local own_lengths = is_by_length and lists.to_set(runs.get_lengths(run, "eval")) or {}
  return lists.any(evaluation.lengths, function(n) return own_lengths[n] end) and own_lengths or nil
end

-- Returns the score of a run, the mean of its evaluation of a split, and the score of its best checkpoint; nil without
-- these evaluations.
local function compute_scores(run, split, metric)
  if run.state ~= "evaluated" then
    return nil
  end
  local function compute(evaluation)
    return evaluation and runs.compute_mean(evaluation, metric, find_own_lengths(run, evaluation))
  end
  return compute(runs.get_evaluation(run, split)), run.best and compute(runs.get_evaluation(run.best, "test")) or nil
end

-- Returns the row of a run. metric: the metric of scores; locks: the set of inode numbers of files that trainers lock;
-- encodings: names of encodings, by "<id>/<digest>" of a run.
local function make_row(study, cell, run, metric, locks, encodings)
  local facts = run.facts
  local is_locked = locks[lfs.attributes(run.dir .. "/lock", "ino") or false]
  local id, digest = run.id or cell.id, run.digest or cell.digest
  local row = lists.merge({ path = run.dir, id = id, digest = digest, task = cell.key.task,
    encoding = encodings[id .. "/" .. digest] or cell.key.encoding, parameters = facts.parameters, seed = run.seed,
    learning_rate = run.learning_rate, steps = facts.step, state = is_locked and "running" or run.state,
    exit = run.exit, device = facts.variant, machine = facts.machine, started = facts.started, ended = facts.ended,
    bytes = count_bytes(run.dir), run = run }, runs.get_size(run), seeds.list_columns(run))
  local score, best_score = compute_scores(run, study.scored.split, metric)
  if score then
    row.metric, row.score, row.best_score = metric, score, best_score
    row.split = run.test and run.test.split
    row.best_step = run.best and run.best.step
  end
  return row
end

-- Reads the runs in a folder. metric: the metric of scores; nil: for each run exact_match if its model answers token by
-- token, otherwise accuracy. with_encodings: whether to read the names that studies give to encodings; reading them
-- takes time after large sweeps.
function M.read(dir, metric, with_encodings)
  if lfs.attributes(dir, "mode") ~= "directory" then
    return nil, ("there is no folder %s\n  expected: a folder of runs, or the folder of a run"):format(dir)
  end
  local root, locks = run_files.find_root(dir) or dir, ledger.read_locks()
  local encodings = with_encodings and read_encodings(root) or {}
  local study, folder, list = cells.read_folder(root, metric), paths.resolve(dir) .. "/", {}
  for cell, run in lists.iterate_nested(study.cells, "runs") do
    local is_within = (paths.resolve(run.dir) .. "/"):find(folder, 1, true) == 1
    list[#list + 1] = is_within
      and make_row(study, cell, run, metric or metrics.choose_metric({ cell }), locks, encodings) or nil
  end
  if not list[1] then
    return nil, ("%s: there are no runs\n  expected: a folder that trainers wrote, with <id>/<digest>/<run>/run.json "
      .. "in it"):format(dir)
  end
  return { root = root, rows = list, problems = study.problems }
end

return M
