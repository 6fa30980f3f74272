-- Runs: the contents of their folders, which run_files.lua reads.
--
-- Input: a folder. Output: a run, with these fields; a field that does not apply is nil:
--   dir: the folder
--   facts: the content of run.json, of which id, digest, seed, learning_rate and exit are also fields of the run
--   state: "evaluated" or one of UNSCORED
--   notes: messages on unreadable contents
--   damaged: the first message on an invalid file; nil if all files are valid
--   in_distribution, between, beyond: for sampled tasks, the last evaluation of each split by length (evaluations.lua)
--   validation: the last evaluation on the validation stream, or on this set of dataset files
--   train, test: for dataset files, the last evaluation on these sets. For sampled tasks, train is in_distribution, and
--     test is beyond or else between. choose_test replaces a missing test
--   is_within: whether test has only training lengths, or, for a user's own file, no part beyond training
--   is_trained: true if test consists of the examples of training, because the run has no other set
--   novel: true if held-out sets exclude examples of training
--   parts: for dataset files, the parts of test, { in_distribution, beyond, axes } (evaluations.lua)
--   axis: the first axis of the evaluations, or "length": `lengths` of evaluations are numbers on this axis
--   decoding: for generative models the decoding of all evaluations of the run, "greedy" or "teacher_forced"
--   best: the best checkpoint (train.checkpoint.best). It has step, metric and score, from an evaluation during
--     training, and evaluations after training under the names that the run uses (test, validation, ...)
--   during: evaluations during training, from evaluations.summarise_training
--   levels: levels.noise[<standard deviation>], for noise on embeddings, and levels.passes[<number of passes>], for a
--     looped model: evaluations under the names that the run uses. M.get_own_levels returns the levels of the run's
--     own evaluations
-- Invariants: writes nothing. A run whose run.json or eval.jsonl is damaged has no evaluations, and `facts` is empty.

local axes = require("spec.task.axes")
local canonical = require("base.canonical")
local evaluations = require("lab.study.read.evaluations")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local run_files = require("lab.study.read.run_files")
local tasks = require("spec.task.tasks")
local wording = require("base.wording")

local M = {}

-- The states of a run without scores; "evaluated" is the state of a run with scores.
--   missing         the folder has no run.json
--   waiting         its cell has no spec yet, since another cell's run or an initial checkpoint is missing (cells.lua
--                   sets this state)
--   failed          it ended in an error
--   unfinished      it is still in progress, or was stopped or killed
--   not evaluated   it ended, but lacks the score that was requested
--   damaged         its files have invalid contents
M.UNSCORED = { "missing", "waiting", "failed", "unfinished", "not evaluated", "damaged" }

-- Returns a text such as "26 missing, 1 failed"; "" without such runs. counts: numbers of runs by state.
function M.format_states(counts)
  return table.concat(lists.map(M.UNSCORED, function(state)
    return (counts[state] or 0) > 0 and ("%d %s"):format(counts[state], state) or nil
  end), ", ")
end

M.FRAME = axes.FRAME -- for reports, whose folder requires no module of spec

-- Removes the setting of the model, noise or passes, from the axes of a row. Returns a new row, the name of the setting
-- and its value. Returns only the given row if it has no setting.
local function split_level(row)
  local setting = row.by and lists.find(axes.SETTINGS, function(name) return row.by[name] ~= nil end)
  if not setting then
    return row
  end
  local plain_row, axis_values = setmetatable({}, { __index = row }), {}
  for name, value in pairs(row.by) do
    axis_values[name] = name ~= setting and value or nil
  end
  plain_row.by = axis_values
  return plain_row, setting, row.by[setting]
end

-- Returns the levels of the run's own evaluations: the least noise, and the number of passes in training.
function M.get_own_levels(run)
  return { [axes.NOISE] = (lists.get(run.facts, "spec.eval.by.noise.list") or {})[1],
    [axes.PASSES] = lists.get(run.facts, "spec.model.loops.times") }
end

-- Adds a row to `target`, the evaluations of one decoding:
--   target.during   a row from training
--   target.levels   a row with a level
--   target          a row without a level, or with the run's own level
--   target.best     such a row if its step is the step of the best checkpoint
local function add_row(run, target, row, own_levels)
  local plain_row, setting, value = split_level(row)
  if row.split == "during" then
    return table.insert(target.during, plain_row)
  elseif setting then
    target.levels = target.levels or {}
    target.levels[setting] = target.levels[setting] or {}
    target.levels[setting][value] = target.levels[setting][value] or { axis = run.axis }
    evaluations.add(target.levels[setting][value], plain_row)
  end
  if not setting or value == own_levels[setting] then
    evaluations.add(target, plain_row)
    if run.facts.best and run.facts.best.step == row.step then
      target.best = target.best or { axis = run.axis }
      evaluations.add(target.best, plain_row)
    end
  end
end

-- Keys of files' digests in the field `data` of run.json, by set; ALL_DIGESTS is for lines without a set.
local DIGESTS = { train = { "train_sha256" }, test = { "eval_sha256" }, validation = { "validation_sha256" } }
local ALL_DIGESTS = { "train_sha256", "eval_sha256", "validation_sha256" }

-- Whether a line was evaluated on a file that run.json names; true for a line that names no file.
local function has_own_data(run, row)
  local data, set = run.facts.data, row.set or row.split
  return not row.data or not data or lists.find(DIGESTS[set] or ALL_DIGESTS, function(key)
    return (data[key] or ""):sub(1, #row.data) == row.data
  end) ~= nil
end

-- Returns the evaluations of one decoding, and sets run.decoding: the spec's decoding if it has evaluations after
-- training, otherwise the other one. by_decoding: evaluations by decoding, or by "" if the model is not generative.
local function choose_decoding(run, by_decoding)
  if by_decoding[""] then
    return by_decoding[""]
  end
  local requested_decoding = lists.get(run.facts, "spec.eval.decoding") or "greedy"
  local order = { requested_decoding, requested_decoding == "greedy" and "teacher_forced" or "greedy" }
  run.decoding = lists.find(order, function(decoding)
    local candidates = by_decoding[decoding] or {}
    return lists.find(evaluations.SPLITS, function(split) return candidates[split] end)
  end) or lists.find(order, function(decoding) return by_decoding[decoding] end)
  return by_decoding[run.decoding]
end

-- Calls take(row) for the lines of eval.jsonl that belong to the run's own evaluation. These lines have the standard
-- seed, files that run.json names, and trained examples only as the spec requests. notes: a list that gets a text on a
-- torn last line. Returns a text on damage or nil.
function M.read_rows(run, notes, take)
  local excludes_trained = lists.get(run.facts, "spec.eval.novel") ~= false
  return run_files.read_evaluations(run.dir, notes, function(row)
    local is_as_requested = row.trained == nil or (row.novel or false) == excludes_trained
    if row.seed == nil and has_own_data(run, row) and is_as_requested then
      take(row)
    end
  end)
end

-- Returns the evaluations of a run, and a text on damage or nil.
local function read_evaluations(run)
  local by_decoding, own_levels = {}, M.get_own_levels(run)
  local damage = M.read_rows(run, run.notes, function(row)
    local decoding = row.decoding or ""
    by_decoding[decoding] = by_decoding[decoding] or { axis = run.axis, during = {} }
    run.novel = run.novel or row.novel
    -- Memory cannot hold the lists by place and by example of all lines. places.lua and stopping.lua read them again.
    row.has_places, row.places, row.by_example = row.places ~= nil or nil, nil, nil
    add_row(run, by_decoding[decoding], row, own_levels)
  end)
  return choose_decoding(run, by_decoding) or { axis = run.axis, during = {} }, damage
end

-- Whether the spec names a file of examples (task.data). Lengths of its examples are in run.json, not in the spec.
local function has_own_file(run)
  return lists.get(run.facts, "spec.task.data") ~= nil
end

-- Returns the lengths of a section of a run's spec, "train" or "eval", as a list; for examples of a file, only the
-- lengths of training are known. The list is empty if no lengths are known.
function M.get_lengths(run, section)
  if has_own_file(run) then
    return section == "train" and run.facts.train_lengths or {}
  end
  return tasks.list_lengths(lists.get(run.facts, "spec." .. section .. ".lengths"))
end

-- Whether a run has dataset files, so that the splits of its lines are sets: train, test and validation.
function M.has_sets(run)
  return run.facts.data ~= nil or has_own_file(run)
end

-- Returns the number of lengths that the spec evaluates outside the training lengths; 0 if they are unknown.
local function count_untrained_lengths(run)
  local trained_lengths = lists.to_set(M.get_lengths(run, "train"))
  return lists.count(M.get_lengths(run, "eval"), function(n) return not trained_lengths[n] end)
end

-- Completes collected evaluations and copies them into `holder`: the run, a level or the best checkpoint.
local function complete_evaluations(run, holder, collected)
  evaluations.complete(collected, M.has_sets(run), has_own_file(run))
  collected.test = collected.test or collected.beyond or collected.between
  collected.train = collected.train or collected.in_distribution
  for _, split in ipairs(evaluations.SPLITS) do
    holder[split] = collected[split]
  end
end

-- Chooses the test of a run without one, and sets is_within, is_trained and parts.
--   dataset files   validation, or else train
--   sampled tasks   in_distribution, if the spec evaluates only training lengths
local function choose_test(run)
  local has_sets = M.has_sets(run)
  run.test = run.test or has_sets and run.validation or nil
  local has_only_training_lengths = #M.get_lengths(run, "eval") > 0 and count_untrained_lengths(run) == 0
  if not run.test and run.train and (has_sets or has_only_training_lengths) then
    run.test, run.train, run.is_within, run.is_trained = run.train, nil, true, has_sets
  elseif run.test and run.test.parts and not run.test.parts.beyond then
    run.is_within = has_own_file(run) or nil
    run.is_trained = run.facts.data ~= nil and run.facts.data.eval == nil and run.test ~= run.validation
  end
  run.parts = run.test and run.test.parts
end

local function count_lengths(evaluation)
  return evaluation and #evaluation.lengths or 0
end

-- Returns "evaluated" or one of UNSCORED. A run that has not ended successfully counts as evaluated if all requested
-- lengths are evaluated.
local function find_state(run)
  local exit = run.facts.exit
  if run_files.has_failed(exit) then
    return "failed"
  end
  local requested_count = run.is_within and #M.get_lengths(run, "eval") or count_untrained_lengths(run)
  local evaluated_count = run.is_within and count_lengths(run.test)
    or count_lengths(run.beyond or run.test) + count_lengths(run.between)
  local is_complete = run.test and (exit == 0 or requested_count > 0 and evaluated_count >= requested_count)
  return is_complete and "evaluated" or exit == 0 and "not evaluated" or "unfinished"
end

local function make_damaged(dir, damage)
  return { dir = dir, notes = { damage }, during = {}, facts = {}, state = "damaged", damaged = damage }
end

-- Reads the run in a folder; nil without run.json. names: the names that run.json must agree with, from
-- run_files.split_path; nil: no check.
function M.read(dir, names)
  local facts, damage = run_files.read_facts(dir, names)
  if not facts then
    return damage and make_damaged(dir, damage)
  end
  local run = { dir = dir, notes = {}, facts = facts, axis = (lists.get(facts, "data.by") or {})[1] or "length",
    id = facts.id, digest = facts.digest, seed = facts.seed, part_seeds = facts.seeds_apart,
    learning_rate = facts.learning_rate, exit = facts.exit }
  local collected
  collected, damage = read_evaluations(run)
  if damage then
    return make_damaged(dir, damage)
  end
  run.during, run.levels = evaluations.summarise_training(collected.during, facts.spec), collected.levels or {}
  complete_evaluations(run, run, collected)
  for _, levels_by_value in pairs(run.levels) do
    for _, level in pairs(levels_by_value) do
      complete_evaluations(run, level, level)
    end
  end
  choose_test(run)
  if facts.best then
    run.best = lists.merge(facts.best)
    complete_evaluations(run, run.best, collected.best or {})
    run.best.test = run.test and run.best[run.test.split]
    run.best.parts = run.best.test and run.best.test.parts
  end
  run.state = find_state(run)
  return run
end

M.SIZES = { "layers", "width", "heads" } -- fields of the result of M.get_size that are numbers

-- Returns the size of a run's model: { model (the kind of network), layers (blocks of all stacks together), width
-- (channels of a token's vector), heads (of a block) }. Fields that the spec lacks are absent.
function M.get_size(run)
  local model = lists.get(run.facts, "spec.model") or {}
  local layers = model.layers or model.decoder_layers and (model.encoder_layers or 0) + model.decoder_layers
  return { model = model.kind, layers = layers, width = model.width, heads = model.heads }
end

-- Records a message on an invalid file of a run.
function M.note_damage(run, message)
  run.notes[#run.notes + 1] = message
  run.damaged = run.damaged or message
end

-- Returns the lines of metrics.jsonl as a list of rows, numbers by name. If the file is damaged, returns an empty list,
-- sets run.damaged and adds a note.
function M.read_metrics(run)
  local rows = {}
  local damage = run_files.read_metrics(run.dir, run.notes, function(row) table.insert(rows, row) end)
  if damage then
    M.note_damage(run, damage)
    return {}
  end
  return rows
end

-- Returns { { step, seconds of training until then }, ... } for the logged steps that have seconds and for the last
-- step. The list is empty if metrics.jsonl is damaged.
function M.read_clock(run)
  local points = lists.map(M.read_metrics(run), function(row) return row.seconds and { row.step, row.seconds } end)
  local facts, last = run.facts, points[#points]
  if not run.damaged and facts.step and facts.train_seconds and facts.step > (last and last[1] or 0) then
    points[#points + 1] = { facts.step, facts.train_seconds } -- the last step, if metrics.jsonl has no line for it
  end
  return points
end

-- Returns the axis of a run's evaluations in words.
function M.format_axis(run)
  local width = run.axis == "digits" and lists.get(run.facts, "spec.task.options.width")
  return width and ("significant digits, in a frame of %d"):format(width) or run.axis
end

-- Returns an evaluation of a run, or nil. name: a field of the run, such as "test"; or for dataset files a part of the
-- test: "in_distribution", "beyond", or "beyond" with axes, such as "beyond digits".
function M.get_evaluation(run, name)
  local evaluation, parts = run[name], run.parts or {}
  return evaluation or parts[name] or lists.any(parts.axes or {}, function(entry)
    return entry.name == name and entry.evaluation
  end) or nil
end

-- Returns numbers on an axis in words: "9 lengths 60..500", "length 60", "3 values of digits 6..50".
local function format_numbers(axis, lengths)
  local first, last = lengths[1], lengths[#lengths]
  if #lengths == 1 then
    return ("%s %g"):format(axis, first)
  elseif axis == "length" then
    return ("%d lengths %g..%g"):format(#lengths, first, last)
  end
  return ("%d values of %s %g..%g"):format(#lengths, axis, first, last)
end

-- Returns the grid of an evaluation, the lengths or numbers on an axis over which its score is averaged:
--   key    equal for equal grids
--   text   words such as "mean over 9 lengths 60..500"
local function describe_grid(run, evaluation)
  local text = format_numbers(run.axis, evaluation.lengths)
  if evaluation.is_weighted then
    local count = lists.sum(evaluation.counts, function(examples) return examples end)
    local total = lists.sum(evaluation.totals or evaluation.counts, function(examples) return examples end)
    text = ("share of %s, %s"):format(total > count and ("%d examples, estimated from %d of them"):format(total, count)
      or wording.count(count, "example"), text)
  elseif #evaluation.lengths > 1 then
    text = "mean over " .. text
  end
  return { text = text, key = ("%s %s"):format(run.axis, table.concat(evaluation.lengths, ",")) }
end

-- Returns the most frequent grid (describe_grid) of the runs' evaluations on a set; of equally frequent grids, the one
-- that occurs first in the list of runs. nil without evaluations.
function M.find_usual_grid(list, set)
  local grids = lists.map(list, function(run)
    local evaluation = M.get_evaluation(run, set)
    return evaluation and describe_grid(run, evaluation)
  end)
  local best = {}
  for _, equal_grids in ipairs(lists.group(grids, function(grid) return grid.key end)) do
    best = #equal_grids > #best and equal_grids or best
  end
  return best[1]
end

-- Returns the evaluations of a curve by length. name: the name of an evaluation, by default "test".
--   dataset files, or validation   the named evaluation alone
--   otherwise                      in_distribution, between and beyond, if their step is the named evaluation's step
function M.get_curve(run, name)
  local last = M.get_evaluation(run, name or "test")
  if not last or M.has_sets(run) or last == run.validation then
    return { last }
  end
  return lists.map({ "in_distribution", "between", "beyond" }, function(split)
    return run[split] and run[split].step == last.step and run[split] or nil
  end)
end

-- Whether the named evaluation has examples beyond training: its split is between or beyond, or it has a part beyond.
function M.is_beyond(run, name)
  local evaluation = M.get_evaluation(run, name)
  return evaluation ~= nil and (evaluation.split:find("^be") ~= nil or evaluation.parts ~= nil
    and evaluation.parts.beyond ~= nil)
end

-- Returns a run's score, the mean of the named evaluation in the unit of the metric; nil without that evaluation, or if
-- the run is not in the state "evaluated". name: by default test; metric: by default accuracy.
function M.get_score(run, name, metric)
  return run.state == "evaluated" and M.compute_mean(M.get_evaluation(run, name or "test"), metric) or nil
end

-- Returns the mean of an evaluation in the unit of the metric (shares in percent): the mean over all existing examples
-- if is_weighted, otherwise the mean over lengths. Returns nil without an evaluation, or if a length lacks the metric.
-- Lengths without counted labels are skipped.
--   metric              by default accuracy
--   requested_lengths   the set of the lengths over which the mean is taken; by default all lengths
function M.compute_mean(evaluation, metric, requested_lengths)
  metric = metric or "accuracy"
  local list = evaluation and evaluation[metric]
  local sum, weights, uncounted = 0, 0, evaluation and evaluation.uncounted or {}
  local examples = evaluation and evaluation.is_weighted and (evaluation.totals or evaluation.counts) or {}
  for i = 1, list and #evaluation.lengths or 0 do
    local value, weight = tonumber(list[i]), examples[i] or 1
    local is_requested = not requested_lengths or requested_lengths[evaluation.lengths[i]]
    if is_requested and value then
      sum, weights = sum + weight * value, weights + weight
    elseif is_requested and not uncounted[i] then
      return nil
    end
  end
  return weights > 0 and metrics.by_name[metric].factor * sum / weights or nil
end

-- Returns the score of a run's best checkpoint, like M.get_score for the last step. name has no default.
function M.get_best_score(run, name, metric)
  return run.best and run.state == "evaluated" and M.compute_mean(M.get_evaluation(run.best, name), metric) or nil
end

-- Returns the levels of noise or of passes at which a run was evaluated, ascending. name: "noise" or "passes".
function M.list_levels(run, name)
  return canonical.sort_keys(run.levels and run.levels[name] or {})
end

-- Returns the evaluation of a split at a level; nil if there is none. name, value: the level, such as "noise" and a
-- standard deviation. For the split "test" of a run without a test, returns validation or else train.
function M.get_level_evaluation(run, name, value, split)
  local level = run.levels and run.levels[name] and run.levels[name][value]
  return level and (level[split] or split == "test" and (level.validation or level.train)) or nil
end

M.EPOCH = "epoch" -- for M.get_score_on, the training batches of the last epoch

-- Returns the score on exactly the named set, or nil. M.EPOCH has only one score, the running accuracy of training.
function M.get_score_on(run, split, metric)
  if split == M.EPOCH then
    local accuracy = metric:find("^accuracy") and run.state == "evaluated" and run.facts.epoch_accuracy
    return accuracy and 100 * accuracy or nil
  end
  local evaluation = M.get_evaluation(run, split)
  if split == "test" and run.is_within and not M.has_sets(run) then
    return nil -- the run has only training lengths, so its test is not a separate set
  elseif not evaluation and run.test and run.test.split == split then
    evaluation = run.test
  elseif M.has_sets(run) and evaluation and evaluation.split ~= split then
    return nil
  end
  return run.state == "evaluated" and M.compute_mean(evaluation, metric) or nil
end

-- Returns the runs of a cell at the chosen learning rate; an empty list without a cell or without scores.
function M.get_chosen_runs(cell)
  return cell and cell.summary.best_rate and cell.summary.best_rate.runs or {}
end

return M
