-- Runs: what run_files.lua reads of a folder, put together.
--
-- Input: a folder. Output: run = { dir, id, digest, seed, learning_rate, facts, state, exit, test, train, between,
-- validation, axis, during, notes, damaged }: facts is run.json; test and train hold the last evaluation beyond and in
-- the training distribution, between that of lengths that are neither, or test and train those of these sets of finite
-- data; validation that of the third set, or of the validation stream of a sampled task; each is { step, examples,
-- draws, lengths, accuracy, exact_match, loss, counts } with five lists in the order of lengths, loss and exact_match
-- as text, counts the examples of each. axis says what these lengths are: "length", or the first axis that the
-- evaluation went by; where it went by several, `conditions` has { by, examples, accuracy, exact_match, loss, trained,
-- beyond } of each, and the lists the means over those that share a number on the first, or what a condition of that
-- number alone has. during is a list of { step, mean, sets }, the means { accuracy, exact_match } of all that is held
-- out, and in sets of each set by name; notes says what could not be read. novel: examples that were trained on were
-- left out of what is held out. state is "evaluated" or one of UNSCORED. within: nothing was to be evaluated beyond
-- training, and test is what was within; seen: on the very examples of training. noisy: where embeddings had noise, {
-- [deviation] = { axis, test, train, validation } }, each an evaluation as above; test, train and validation of the run
-- itself are those of the least deviation.
-- Invariants: writes nothing; a damaged run has no facts and no numbers, and `damaged` is true; a torn line, as a
-- killed trainer leaves it, is skipped and noted.

local axes = require("spec.axes")
local canonical = require("base.canonical")
local metrics = require("study.read.metrics")
local run_files = require("study.read.run_files")

local M = {}

-- The states of a run besides "evaluated", which is: it ended and has accuracies beyond the training lengths. missing:
-- it has no folder; waiting: its cell is made of another's run, which has not ended or is gone; failed: it ended in
-- an error; unfinished: it goes on, or was stopped or killed; not evaluated: it ended without accuracies; damaged: its
-- files are not as trainers write them.
M.UNSCORED = { "missing", "waiting", "failed", "unfinished", "not evaluated", "damaged" }

M.FRAME = axes.FRAME

local STOPPED = 75 -- the exit code after a signal

local function empty_mean()
  return { accuracy = 0, exact_match = 0, count = 0 }
end

local function add_mean(mean, row)
  mean.accuracy, mean.count = mean.accuracy + row.accuracy, mean.count + 1
  mean.exact_match = mean.exact_match + (tonumber(row.exact_match) or 0)
end

local function finish_mean(mean)
  local count = mean.count
  return count > 0 and { accuracy = mean.accuracy / count, exact_match = mean.exact_match / count } or nil
end

-- The set that evaluations on the way go over where it is one alone, which their lines then leave out; nil otherwise.
local function only_set(run)
  local eval = run.facts.spec and run.facts.spec.eval
  local splits = eval and eval.during and eval.during.splits
  return splits and #splits == 1 and splits[1] or nil
end

local function add_during(run, row)
  local last, set = run.during[#run.during], row.set or only_set(run)
  if not last or last.step ~= row.step then
    last = { step = row.step, all = empty_mean(), sets = {} }
    run.during[#run.during + 1] = last
  end
  if set then
    last.sets[set] = last.sets[set] or empty_mean()
    add_mean(last.sets[set], row)
  end
  if set ~= "train" then
    add_mean(last.all, row)
  end
end

-- Where the evaluation of a split is kept, of those that are not kept by their own name.
local PLACE = { in_distribution = "train", beyond = "test" }

local EVALUATIONS = { "test", "between", "train", "validation" }

local function place_of(split)
  return PLACE[split] or split
end

-- Adds one line to run.test, run.train, ...: the last step counts, and of a condition, the last line.
local function add(run, row)
  local place_of_split = place_of(row.split)
  local evaluation, n = run[place_of_split], row.by and row.by[run.axis] or run.axis == "length" and row.length
  if not n and row.length then
    return -- by length, where the run goes by other axes: somebody asked for it
  elseif not evaluation or row.step > evaluation.step then
    evaluation = { split = row.split, step = row.step, examples = row.examples, draws = row.draws, places = {},
      lengths = {}, accuracy = {}, exact_match = {}, loss = {}, counts = {} }
    run[place_of_split] = evaluation
  elseif row.step < evaluation.step then
    return
  end
  local key = row.by and canonical.text(row.by) or row.length
  local place = evaluation.places[key] or #evaluation.lengths + 1
  evaluation.places[key] = place
  evaluation.mixed = evaluation.mixed or row.examples ~= evaluation.examples or row.draws ~= evaluation.draws
  evaluation.lengths[place], evaluation.accuracy[place] = n or 0, row.accuracy
  evaluation.exact_match[place], evaluation.loss[place] = row.exact_match, row.loss
  evaluation.counts[place] = row.examples
  if row.by and not row.length then
    evaluation.conditions = evaluation.conditions or {}
    evaluation.conditions[place] = { by = row.by, examples = row.examples, accuracy = row.accuracy,
      exact_match = row.exact_match, loss = row.loss, trained = row.trained, beyond = row.beyond }
  end
end

local takers = { during = add_during, test = add, train = add, validation = add, in_distribution = add, between = add,
  beyond = add }

local MEASURES = { "accuracy", "exact_match", "loss" }

-- The numbers on the first axis that a condition has alone: finer ones beside it have examples of their own.
local function alone(evaluation, axis)
  local whole = {}
  for _, condition in ipairs(evaluation.conditions) do
    local n = condition.by[axis]
    if n and next(condition.by, next(condition.by)) == nil then
      whole[n] = true
    end
  end
  return whole
end

-- Whether a condition is of another frame than that of training: it is told apart, and counts nowhere else.
local function is_framed(by)
  return by[axes.FRAME] ~= nil and next(by, next(by)) ~= nil
end

-- Takes conditions that share a number on the first axis together: means over their examples. They stand side by side.
local function join(evaluation, axis)
  local joined, last = { lengths = {}, accuracy = {}, exact_match = {}, loss = {}, counts = {} }, 0
  local whole = alone(evaluation, axis)
  local function take(i, n, by)
    local weight = whole[n] and next(by, next(by)) and 0 or evaluation.counts[i]
    if last == 0 or joined.lengths[last] ~= n then
      last = last + 1
      joined.lengths[last], joined.counts[last] = n, 0
    end
    for _, key in ipairs(MEASURES) do
      joined[key][last] = (joined[key][last] or 0) + weight * (tonumber(evaluation[key][i]) or 0)
    end
    joined.counts[last] = joined.counts[last] + weight
  end
  for i, n in ipairs(evaluation.lengths) do
    local by = evaluation.conditions[i].by
    if not is_framed(by) then
      take(i, n, by)
    end
  end
  for i, weight in ipairs(joined.counts) do
    joined.accuracy[i] = joined.accuracy[i] / weight
    joined.exact_match[i] = ("%.9g"):format(joined.exact_match[i] / weight)
    joined.loss[i] = ("%.9g"):format(joined.loss[i] / weight)
  end
  for key, list in pairs(joined) do
    evaluation[key] = list
  end
end

-- Puts the lists in the order of lengths, where an evaluation was made in pieces.
local function in_order(evaluation)
  local order, sorted = {}, true
  for place in ipairs(evaluation.lengths) do
    order[place] = place
    sorted = sorted and (place == 1 or evaluation.lengths[place - 1] < evaluation.lengths[place])
  end
  if sorted then
    return
  end
  table.sort(order, function(a, b)
    return evaluation.lengths[a] < evaluation.lengths[b]
  end)
  for _, key in ipairs({ "lengths", "accuracy", "exact_match", "loss", "counts", "conditions" }) do
    local list = evaluation[key] and {}
    for i, place in ipairs(list and order or {}) do
      list[i] = evaluation[key][place]
    end
    evaluation[key] = list
  end
end

-- The evaluations of a run, or of one loudness of its noise, once all lines were added.
local function close(of)
  for _, split in ipairs(EVALUATIONS) do
    local evaluation = of[split]
    if evaluation then
      evaluation.places = nil
      in_order(evaluation)
      if evaluation.conditions then
        join(evaluation, of.axis)
      end
    end
  end
end

-- A line whose embeddings had noise, as if there were none, with the deviation; of others themselves.
local function without_noise(row)
  local noise = row.by and row.by[axes.NOISE]
  if not noise then
    return row
  end
  local quiet, by = setmetatable({}, { __index = row }), {}
  for name, value in pairs(row.by) do
    by[name] = name ~= axes.NOISE and value or nil
  end
  quiet.by = by
  return quiet, noise
end

-- Takes one line: noise stands apart, the least of it also in the place of what has none.
local function take(run, row, least)
  local quiet, noise = without_noise(row)
  if noise and row.split ~= "during" then
    run.noisy = run.noisy or {}
    run.noisy[noise] = run.noisy[noise] or { axis = run.axis }
    add(run.noisy[noise], quiet)
  end
  if not noise or noise == least then
    takers[row.split](run, quiet)
  end
end

local DIGESTS = { train = "train_sha256", test = "eval_sha256", validation = "validation_sha256" }

-- Whether a line is of the files that run.json names; one that names no file is.
local function is_of_its_data(run, row)
  local data, set = run.facts.data, row.set or row.split
  if not row.data or not data then
    return true
  end
  for name, key in pairs(DIGESTS) do
    if (name == set or not DIGESTS[set]) and (data[key] or ""):sub(1, #row.data) == row.data then
      return true
    end
  end
  return false
end

-- Lines of other evaluation seeds than the standard one do not count, nor those of other files than run.json names, nor
-- those with or without the examples that were trained on where the spec says the other. Returns what is damaged, or
-- nil.
local function read_evaluations(run)
  local eval = run.facts.spec and run.facts.spec.eval
  local novel = not eval or eval.novel ~= false
  local least = eval and eval.by and eval.by.noise and eval.by.noise.list[1]
  local damage = run_files.evaluations(run.dir, run.notes, function(row)
    if row.seed == nil and is_of_its_data(run, row) and (row.trained == nil or (row.novel or false) == novel) then
      run.novel = run.novel or row.novel
      take(run, row, least)
    end
  end, run.facts)
  close(run)
  for _, of in pairs(run.noisy or {}) do
    close(of)
  end
  for i, point in ipairs(run.during) do
    local sets = {}
    for name, mean in pairs(point.sets) do
      sets[name] = finish_mean(mean)
    end
    run.during[i] = { step = point.step, mean = finish_mean(point.all) or sets.train, sets = next(sets) and sets }
  end
  return damage
end

-- Whether a run was trained on examples of a file. Its lengths are then in run.json, not in the spec.
local function has_data(run)
  local spec = run.facts.spec
  return spec ~= nil and spec.task.data ~= nil
end

-- The lengths of section.lengths of a run's spec as a list; of examples of a file, those that the trainer met there.
-- Empty where there are none, or none are recorded.
function M.lengths(run, section)
  local spec = run.facts.spec
  if has_data(run) then
    return section == "train" and run.facts.train_lengths or {}
  end
  local field = spec and spec[section].lengths
  if not field then
    return {}
  elseif field.list then
    return field.list
  end
  local list = {}
  for n = field.first, field.last, field.step or 1 do
    list[#list + 1] = n
  end
  return list
end

-- How many lengths of a split the spec asks for; 0 where it cannot be told.
local function lengths_asked(run, split)
  local split_of, count = run_files.splits(M.lengths(run, "train")), 0
  for _, n in ipairs(M.lengths(run, "eval")) do
    count = count + (split_of(n) == split and 1 or 0)
  end
  return count
end

-- Of examples of a file the split says which file; what lies beyond training, the lengths alone can tell.
local function split_by_length(run)
  local trained, parts = {}, { axis = "length" }
  for _, n in ipairs(M.lengths(run, "train")) do
    trained[n] = true
  end
  for _, evaluation in ipairs({ run.train or false, run.test }) do
    for i, n in ipairs(evaluation and evaluation.lengths or {}) do
      add(parts, { split = trained[n] and "train" or "test", length = n, step = evaluation.step,
        examples = evaluation.examples, draws = evaluation.draws, accuracy = evaluation.accuracy[i],
        exact_match = evaluation.exact_match[i], loss = evaluation.loss[i] })
      parts[trained[n] and "train" or "test"].mixed = evaluation.mixed
    end
  end
  run.train, run.test = parts.train, parts.test
  for _, split in ipairs({ "train", "test" }) do
    if run[split] then
      run[split].places = nil
    end
  end
end

-- A run that is to be evaluated at nothing beyond training is scored between training lengths, or where there are none
-- of these, at training lengths.
local function score_within(run)
  local data = has_data(run) and run.axis == "length" and #M.lengths(run, "train") > 0
  if data or run.facts.data then
    run.test = run.test or run.validation
  end
  if data then
    split_by_length(run)
  end
  local others = run.facts.data ~= nil and run.facts.data.by ~= nil and not data -- the split says which set it is
  local asked = #M.lengths(run, "eval") > 0 and lengths_asked(run, "beyond") == 0
  if not run.test and run.between and asked then
    run.test, run.between, run.within = run.between, nil, true
  elseif not run.test and run.train and (data or others or asked) then
    run.test, run.train, run.within = run.train, nil, true
    run.seen = others or data and run.facts.data ~= nil and run.facts.data.eval == nil
  end
end

local function state_of(run)
  local exit = run.facts.exit
  if exit and exit ~= 0 and exit ~= STOPPED then
    return "failed"
  end
  local asked = lengths_asked(run, run.test and run.test.split or "beyond")
  local whole = run.test and (exit == 0 or asked > 0 and #run.test.lengths >= asked)
  return whole and "evaluated" or exit == 0 and "not evaluated" or "unfinished"
end

-- A run whose files are damaged: nothing of them is shown but what is wrong.
local function damaged(dir, damage)
  return { dir = dir, notes = { damage }, during = {}, facts = {}, state = "damaged", damaged = true }
end

-- Reads one folder; nil where it has no run.json. place: what the folders it lies in say, as run_files.place gives
-- it; absent where they may be called anything.
function M.read(dir, place)
  local facts, damage = run_files.facts(dir, place)
  if not facts then
    return damage and damaged(dir, damage)
  end
  local run = { dir = dir, notes = {}, during = {}, facts = facts }
  run.axis = facts.data and facts.data.by and facts.data.by[1] or "length"
  for _, key in ipairs({ "id", "digest", "seed", "learning_rate", "exit" }) do
    run[key] = facts[key]
  end
  damage = read_evaluations(run)
  if damage then
    return damaged(dir, damage)
  end
  score_within(run)
  run.state = state_of(run)
  return run
end

-- Notes damage that is found after the run was read.
local function note_damage(run, damage)
  if damage then
    run.notes[#run.notes + 1], run.damaged = damage, true
  end
end

-- metrics.jsonl as a list of rows, numbers by name; empty where it is damaged, which is noted.
function M.metrics(run)
  local rows = {}
  local damage = run_files.metrics(run.dir, run.notes, function(row)
    rows[#rows + 1] = row
  end)
  note_damage(run, damage)
  return damage and {} or rows
end

-- Seconds of training behind steps, { { step, seconds }, ... }; empty where metrics.jsonl does not have them, or is
-- damaged, which is noted.
function M.clock(run)
  local marks = {}
  local damage = run_files.metrics(run.dir, run.notes, function(row)
    marks[#marks + 1] = row.seconds and { row.step, row.seconds }
  end)
  note_damage(run, damage)
  local facts, last = run.facts, marks[#marks]
  if facts.step and facts.train_seconds and facts.step > (last and last[1] or 0) then
    marks[#marks + 1] = { facts.step, facts.train_seconds } -- of a step behind the last line
  end
  return damage and {} or marks
end

-- What the lengths of a run's evaluation are, in words: digits in a frame are no length, and are told with their frame.
function M.axis_text(run)
  local options = run.axis == "digits" and run.facts.spec and run.facts.spec.task.options
  return options and options.width and ("significant digits, in a frame of %d"):format(options.width) or run.axis
end

-- The score of an evaluated run in percent: the plain mean of a metric, accuracy unless given, over the lengths beyond
-- training, or over those of another evaluation, "train" or "validation". Others have none, and none where it was not
-- evaluated there.
function M.score(run, split, metric)
  return run.state == "evaluated" and M.percent(run[split or "test"], metric) or nil
end

-- The plain mean of an evaluation, shares in percent; nil of none, or where a line does not have the metric.
function M.percent(evaluation, metric)
  metric = metric or "accuracy"
  local list = evaluation and evaluation[metric]
  if not list or #evaluation.lengths == 0 then
    return nil
  end
  local sum = 0
  for i in ipairs(evaluation.lengths) do
    if not tonumber(list[i]) then
      return nil
    end
    sum = sum + tonumber(list[i])
  end
  return metrics.of[metric].factor * sum / #evaluation.lengths
end

-- The evaluation of a set by its name, under noise: that of a run's `noisy`.
function M.under_noise(run, noise, split)
  local of = run.noisy and run.noisy[noise]
  return of and (of[split] or split == "test" and (of.validation or of.train)) or nil
end

-- What score_on takes besides the names of sets: the accuracy of the last epoch's batches while it was trained.
M.EPOCH = "epoch"

-- The score on a set by its name alone: nil where the run was not evaluated on it. Of the batches of an epoch nobody
-- counts exact matches.
function M.score_on(run, split, metric)
  if split == M.EPOCH then
    local accuracy = metric ~= "exact_match" and run.state == "evaluated" and run.facts.epoch_accuracy
    return accuracy and 100 * accuracy or nil
  end
  for _, key in ipairs({ "test", "train", "validation" }) do
    if run[key] and place_of(run[key].split) == split then
      return M.score(run, key, metric)
    end
  end
end

return M
