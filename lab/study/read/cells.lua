-- The cells of a study with their runs read, and the statistics of each cell's scores.
--
-- Input: a study from grid.expand, or only a folder of runs. Output: a study:
--   title, axes, cells
--   scored: from metrics.lua
--   usual_grid: the lengths or numbers over which most scores are averaged (runs.find_usual_grid)
--   full_study: the study with all cells, from before M.merge_axis or M.select
--   name, path, scale, report, left_out (texts on omitted earlier versions): only in a study from grid.expand
--   is_from_folder = true, problems (texts on unreadable folders): only in a study from a folder
-- Each cell has
--   key, id, spec: from grid.lua; instead of a spec, a cell from a folder has digest and data (group_runs)
--   number: its index in full_study
--   runs: from runs.lua, with two more fields: score (in the unit of the metric) and generalises. Both are nil for a
--     run that is not evaluated. A run without run.json is "missing", or "waiting" if its cell has no spec
--   summary: from summarise, with has_other_grid: true if the cell's grid is not the usual grid
--   lost_text: a text on a missing initial checkpoint (grid.lua), or nil
--   changes: if the runs are of an earlier version, a text on its differences from `spec` (earlier_results.lua)
--   task_spec: the resolved spec of a run, if the cell has no spec
--   is_joined: true if M.merge_axis joined several cells to this one

local earlier_results = require("lab.study.read.earlier_results")
local canonical = require("base.canonical")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local run_files = require("lab.study.read.run_files")
local runs = require("lab.study.read.runs")
local snapshots = require("lab.study.read.snapshots")
local statistics = require("lab.study.read.statistics")
local wording = require("base.wording")

local M = {}

local DEFAULT_SCORED = { split = "test" }

-- Facts that all runs of a cell should share, as { name for messages, path in run.json or function of a run }.
--   is_of_spec       only runs of one spec share the fact
--   is_file_digest   the fact is the SHA-256 of a file; a run may have no such file
local SHARED_FACTS = {
  { "generated sources", "source_digest" },
  { "compiler", "compiler" },
  { "instruction-set level", "level" },
  { "device", "variant" },
  { "precision", "precision" },
  { "training data", "data.train_sha256", is_of_spec = true, is_file_digest = true },
  { "test data", "data.eval_sha256", is_of_spec = true, is_file_digest = true },
  { "validation data", "data.validation_sha256", is_of_spec = true, is_file_digest = true },
  { "spec digest", "digest", is_of_spec = true },
  -- With train.patience, last steps differ. patience_of_steps is the requested number of steps.
  { "last step", function(run) return run.facts.patience_of_steps or run.test.step end },
  { "examples per length", function(run) return run.test.is_mixed and "mixed" or run.test.examples end },
  { "evaluated lengths", function(run)
    local lengths = run.test.lengths
    return ("%d, from %d to %d"):format(#lengths, lengths[1], lengths[#lengths])
  end },
}

-- Returns the facts that differ among the runs in a list, as texts. is_joined: the runs may have several specs.
local function describe_differences(cell_runs, is_joined)
  return lists.map(SHARED_FACTS, function(item)
    local fact = item[2]
    local compared_runs = item.is_of_spec and is_joined and {} or cell_runs
    local values = lists.drop_repeats(lists.map(compared_runs, function(run)
      local value = type(fact) == "string" and lists.get(run.facts, fact) or type(fact) == "function" and fact(run)
      return item.is_file_digest and (value or "none"):sub(1, run_files.DATA_DIGITS)
        or tostring(value or "not recorded")
    end))
    table.sort(values)
    return #values > 1 and ("%s: %s"):format(item[1], table.concat(values, "; ")) or nil
  end)
end

-- Returns statistics of runs that have a score: { runs, scores, mean, sd, median, lower, upper (quartiles), min, max,
-- generalising_share }. generalising_share is nil if no run has a score in the criterion's metric.
local function compute_spread(cell_runs)
  local scores = lists.map(cell_runs, function(run) return run.score end)
  local outcomes = lists.map(cell_runs, function(run) -- 1: the run generalises; 0: it does not
    return run.generalises ~= nil and (run.generalises and 1 or 0) or nil
  end)
  local function quantile(share)
    return statistics.quantile(scores, share)
  end
  return { runs = cell_runs, scores = scores, mean = statistics.mean(scores), sd = statistics.sd(scores),
    median = quantile(0.5), lower = quantile(0.25), upper = quantile(0.75), min = quantile(0), max = quantile(1),
    generalising_share = statistics.mean(outcomes) }
end

local function filter_scored(cell_runs)
  return lists.filter(cell_runs, function(run) return run.score end)
end

function M.list_scored_runs(study)
  return filter_scored(lists.collect(study.cells, function(cell) return cell.runs end))
end

-- Returns for each learning rate, in ascending order, the statistics of its runs with a score (compute_spread), with
-- two more fields:
--   rate        the learning rate; 0 if it is unknown
--   requested   the number of requested runs with this learning rate
local function group_by_rate(cell_runs)
  local groups = lists.group(cell_runs, function(run) return run.learning_rate or 0 end)
  table.sort(groups, function(a, b) return a.key < b.key end)
  return lists.map(groups, function(group)
    local rate = compute_spread(filter_scored(group))
    rate.rate, rate.requested = group.key, #group
    return rate
  end)
end

local IN_DISTRIBUTION = { "validation", "in_distribution" }

-- Returns the name of the set of examples that decides the learning rate:
--   the set that the study names in `select`
--   otherwise "validation" or else "in_distribution", if all runs have a score on it and it is not the scored set
--   otherwise the scored set
local function choose_set(cell_runs, scored)
  return scored.select or lists.find(IN_DISTRIBUTION, function(set)
    return set ~= scored.split and cell_runs[1]
      and not lists.find(cell_runs, function(run) return not runs.get_score(run, set, scored.metric) end)
  end) or scored.split
end

-- Describes how a cell's learning rate is chosen. cell_runs: the runs that have a score. Returns
--   set         the name of the deciding set (choose_set), for runs.get_evaluation
--   is_beyond   whether some of its examples are beyond training
--   is_scored   whether this set is also the scored set
--   is_named    whether the study names the set, in `select`
--   rate_count  the number of rates with a score
local function describe_choice(cell_runs, scored)
  local set = choose_set(cell_runs, scored)
  local choice = { set = set, is_named = scored.select ~= nil, is_beyond = false, is_scored = false,
    rate_count = #lists.group(cell_runs, function(run) return run.learning_rate or false end) }
  for _, run in ipairs(cell_runs) do
    local evaluation = runs.get_evaluation(run, set)
    choice.is_beyond = choice.is_beyond or runs.is_beyond(run, set)
    choice.is_scored = choice.is_scored or evaluation ~= nil and evaluation == runs.get_evaluation(run, scored.split)
  end
  return choice
end

local function average_scores(cell_runs, set, metric)
  return statistics.mean(lists.map(cell_runs, function(run) return runs.get_score(run, set, metric) end))
end

-- Whether a learning rate has a better mean score on the deciding set than `best`, the best rate so far or nil. If the
-- scores are equal, the mean loss decides, unless the study names the set.
local function is_better(rate, best, metric, choice)
  if not best or rate.deciding_score ~= best.deciding_score then
    return metrics.is_better(metric, rate.deciding_score, best and best.deciding_score)
  end
  return not choice.is_named and rate.loss ~= nil and best.loss ~= nil and rate.loss < best.loss
end

-- Returns the best of `rates`; nil if no rate has a score on the deciding set. Sets two fields of each rate:
--   deciding_score   the mean score on the deciding set
--   loss             the mean loss on the deciding set
local function choose_best(rates, metric, choice)
  local best
  for _, rate in ipairs(rates) do
    rate.deciding_score = average_scores(rate.runs, choice.set, metric)
    rate.loss = average_scores(rate.runs, choice.set, "loss")
    if rate.deciding_score and is_better(rate, best, metric, choice) then
      best = rate
    end
  end
  return best
end

local function compute_hours(cell_runs)
  local seconds = lists.map(cell_runs, function(run) return run.facts.train_seconds end)
  local hours = lists.map(seconds, function(value) return value / 3600 end)
  return { mean = statistics.mean(hours), sd = statistics.sd(hours), count = #hours,
    machines = lists.drop_repeats(lists.map(cell_runs, function(run) return run.facts.machine or "not recorded" end)) }
end

-- Summarises a cell. scored: the study's `scored`. Returns the statistics of the cell's evaluated runs
-- (compute_spread), and these fields:
--   requested, evaluated: the number of requested runs, and of runs with a score
--   states: { [state] = number of runs }
--   rates: from group_by_rate
--   choice: from describe_choice
--   best_rate: the entry of rates for the chosen rate, or nil
--   best_score, best_run: the best score, and its run
--   hours: the hours of training, from compute_hours
--   differences: texts on facts that differ among the evaluated runs
--   grid: the most frequent grid of the scores, from runs.find_usual_grid
--   decoding: the decoding of a generative model's scores
--   other_decoding_count: the number of runs that drop_other_decodings left out, or nil
local function summarise(cell, scored)
  local evaluated_runs, states, best_run = filter_scored(cell.runs), {}, nil
  for _, run in ipairs(cell.runs) do
    states[run.state] = (states[run.state] or 0) + 1
  end
  for _, run in ipairs(evaluated_runs) do
    best_run = metrics.is_better(scored.metric, run.score, best_run and best_run.score) and run or best_run
  end
  local summary = compute_spread(evaluated_runs)
  summary.requested, summary.evaluated, summary.states = #cell.runs, #evaluated_runs, states
  summary.rates, summary.choice = group_by_rate(cell.runs), describe_choice(evaluated_runs, scored)
  summary.best_rate = choose_best(summary.rates, scored.metric, summary.choice)
  summary.best_score, summary.best_run = best_run and best_run.score, best_run
  summary.hours = compute_hours(evaluated_runs)
  summary.differences = describe_differences(evaluated_runs, cell.is_joined)
  summary.grid = runs.find_usual_grid(evaluated_runs, scored.split)
  summary.decoding, summary.other_decoding_count = best_run and best_run.decoding, cell.other_decoding_count
  return summary
end

local function mark_grid(cell, usual_grid)
  local grid = cell.summary.grid
  cell.summary.has_other_grid = grid ~= nil and grid.key ~= usual_grid.key
end

-- Returns the study without an axis: cells that differ only on this axis become one cell with all of their runs.
function M.merge_axis(study, axis)
  local function make_key(cell)
    local key = lists.copy(cell.key)
    key[axis] = nil
    return key
  end
  local joined_cells = lists.map(lists.group(study.cells, function(cell) return canonical.format(make_key(cell)) end),
    function(group)
      local first = group[1]
      local cell = lists.merge(first, { key = make_key(first), is_joined = true,
        runs = lists.collect(group, function(cell) return cell.runs end),
        changes = lists.any(group, function(cell) return cell.changes end) or nil })
      cell.summary = summarise(cell, study.scored)
      mark_grid(cell, study.full_study.usual_grid)
      return cell
    end)
  local axes = lists.filter(study.axes, function(study_axis) return study_axis.name ~= axis end)
  return setmetatable({ cells = joined_cells, axes = axes }, { __index = study })
end

-- Whether a cell has the values of `where`, { <axis> = value }, and values in the lists of `allowed_values`,
-- { <axis> = list }.
function M.fits(cell, where, allowed_values)
  for name, value in pairs(where) do
    if cell.key[name] ~= value then
      return false
    end
  end
  for name, values in pairs(allowed_values) do
    if not lists.has(values, cell.key[name]) then
      return false
    end
  end
  return true
end

-- Returns a study with only the cells that fit (M.fits). Its axes have only the values of these cells.
function M.select(study, where, allowed_values)
  local selected_cells = lists.filter(study.cells, function(cell)
    return M.fits(cell, where or {}, allowed_values or {})
  end)
  local axes = lists.map(study.axes, function(axis)
    local used_values = lists.map(selected_cells, function(cell) return cell.key[axis.name] end)
    return { name = axis.name, values = lists.filter(axis.values, function(value)
      return lists.has(used_values, value)
    end) }
  end)
  return setmetatable({ cells = selected_cells, axes = axes }, { __index = study })
end

-- Runs with another decoding than the spec's become "not evaluated", and cell.other_decoding_count is their number.
-- Changes nothing if no run has the spec's decoding.
local function drop_other_decodings(cell)
  local requested_decoding = lists.get(cell.spec, "resolved.eval.decoding") or "greedy"
  local other_runs = lists.filter(cell.runs, function(run)
    return run.decoding and run.decoding ~= requested_decoding
  end)
  if #other_runs == 0 or not lists.find(cell.runs, function(run) return run.decoding == requested_decoding end) then
    return
  end
  cell.other_decoding_count = #other_runs
  for _, run in ipairs(other_runs) do
    if run.state == "evaluated" then
      run.state = "not evaluated"
      run.notes[#run.notes + 1] = ("eval.jsonl: its evaluations are %s, evaluations of other runs are %s; expected one "
        .. "decoding; trainer eval or a sweep can evaluate the run again"):format(metrics.decodings[run.decoding],
        metrics.decodings[requested_decoding])
    end
  end
end

-- Scores all runs of a study and summarises its cells. metric: the metric of scores, or nil for the study's.
local function complete_study(study, metric)
  study.scored = metrics.complete_scored(study, study.scored, metric)
  local scored, criterion = study.scored, study.scored.generalises
  for number, cell in ipairs(study.cells) do
    cell.number = number
    drop_other_decodings(cell)
    for _, run in ipairs(cell.runs) do
      run.score = runs.get_score(run, scored.split, scored.metric)
      run.generalises = metrics.generalises(runs.get_score(run, scored.split, criterion.metric), criterion)
      run.state = run.state == "evaluated" and not run.score and "not evaluated" or run.state
    end
    cell.summary = summarise(cell, scored)
  end
  study.full_study, study.usual_grid = study, runs.find_usual_grid(M.list_scored_runs(study), scored.split)
  for _, cell in ipairs(study.cells) do
    mark_grid(cell, study.usual_grid)
  end
  return study
end

local function find_spec(cell_runs)
  return lists.map(cell_runs, function(run) return run.facts.spec end)[1]
end

-- Reads the requested runs of a cell below `root`; a missing or waiting run gets a table without evaluations.
local function read_runs(cell, root)
  local list = {}
  for i, requested_run in ipairs(cell.runs) do
    local dir = requested_run.dir and root .. "/" .. requested_run.dir
    list[i] = dir and runs.read(dir, run_files.split_path(dir))
      or { dir = dir or cell.id, facts = {}, notes = {}, during = {}, state = dir and "missing" or "waiting" }
    list[i].seed, list[i].part_seeds = requested_run.seed, requested_run.part_seeds
    list[i].learning_rate = requested_run.learning_rate
  end
  return list
end

-- Reads the runs of an expanded study below `root`. metric: the metric of scores, or nil for the study's.
function M.read_study(study, root, metric)
  local cells, left_out = {}, {}
  local former_cells, other_axes_count = earlier_results.find_former_cells(study)
  for _, cell in ipairs(lists.join(study.cells, former_cells)) do
    local list, is_earlier, changes = earlier_results.choose(root, study, cell, read_runs(cell, root), left_out)
    if #list > 0 then -- a cell that the study no longer has may have no runs
      cells[#cells + 1] = { key = cell.key, id = cell.id, spec = cell.spec,
        lost_text = not is_earlier and cell.lost_text or nil,
        runs = list, changes = changes, task_spec = not cell.spec and find_spec(list) or nil }
    end
  end
  if other_axes_count > 0 then
    left_out[#left_out + 1] = ("%s of an earlier version of the study, which had other axes: %s/%s"):format(
      wording.count(other_axes_count, "cell"), root, snapshots.get_path(study.name, study.scale))
  end
  return complete_study({ name = study.name, title = study.title, path = study.path, scale = study.scale,
    axes = earlier_results.extend_axes(study, former_cells), report = study.report, labels = study.labels,
    scored = study.scored or DEFAULT_SCORED, cells = cells, left_out = left_out }, metric)
end

-- Returns the name of a run's task, or nil: the kind of a sampled task; for dataset files the task's name, by default
-- `id`, the name of the spec. Names of files are not used, since files of different tasks often have equal names.
function M.name_task(spec, id)
  local task = spec and spec.task or {}
  return task.kind or task.data and (task.name or id) or nil
end

-- Returns the part of a run's id after its task: bucket_sort_rand_sinusoid -> rand_sinusoid.
local function name_encoding(id, task)
  local encoding = id:sub(1, #task + 1) == task .. "_" and id:sub(#task + 2) or ""
  return encoding ~= "" and encoding or id
end

-- Returns the runs below a folder as groups { id, digest, data, runs }, and texts on unreadable folders. data: the
-- first digits of the training file's SHA-256, or nil.
local function group_runs(root)
  local list, problems = run_files.find(root)
  local entries = lists.map(list, function(dir)
    local names = run_files.split_path(dir)
    local run = runs.read(dir, names)
    local digest = run.facts.data and run.facts.data.train_sha256 or run_files.parse_name(names.name).data
    return { run = run, id = names.id, digest = names.digest, data = digest and digest:sub(1, run_files.DATA_DIGITS) }
  end)
  local groups = lists.group(entries, function(entry) return ("%s/%s/%s"):format(entry.id, entry.digest,
    entry.data) end)
  return lists.map(groups, function(group)
    return { id = group[1].id, digest = group[1].digest, data = group[1].data,
      runs = lists.map(group, function(entry) return entry.run end) }
  end), problems
end

local function get_name(group)
  return group.key.task .. "/" .. group.key.encoding
end

-- Distinguishes groups with equal task and encoding: appends get_word(group) to each encoding, if these words differ.
local function distinguish(groups, get_word)
  for _, equal_groups in ipairs(lists.group(groups, get_name)) do
    local differ = #lists.drop_repeats(lists.map(equal_groups, get_word)) > 1
    for _, group in ipairs(differ and equal_groups or {}) do
      group.key.encoding = ("%s (%s)"):format(group.key.encoding, get_word(group))
    end
  end
end

-- Returns the key { task, encoding } of a group of runs; and whether the task is named after the spec, since it has
-- dataset files and no name.
local function make_key(group, spec)
  local name = M.name_task(spec, group.id) or "?"
  return { task = name, encoding = name_encoding(group.id, name) }, spec and spec.task.data ~= nil and name == group.id
end

-- Returns the axes of groups of runs, from their keys. uses_spec_names: whether tasks are named after specs; then
-- encodings are no axis, and are removed from the keys.
local function make_axes(groups, uses_spec_names)
  local axes = lists.map({ "task", not uses_spec_names and "encoding" or nil }, function(name)
    return { name = name, values = lists.drop_repeats(lists.map(groups, function(group) return group.key[name] end)) }
  end)
  for _, group in ipairs(groups) do
    group.key.encoding = not uses_spec_names and group.key.encoding or nil
  end
  return axes
end

-- Returns a study of the runs below a folder, with a cell for each id, plan digest and training file. metric: the
-- metric of scores, or nil for the default.
function M.read_folder(root, metric)
  local groups, problems = group_runs(root)
  local used_names = {}
  local uses_spec_names = true -- whether all tasks are named after their specs, with different names
  for _, group in ipairs(groups) do
    local spec = find_spec(group.runs)
    local key, has_spec_name = make_key(group, spec)
    group.key, group.task_spec = key, spec
    uses_spec_names = uses_spec_names and has_spec_name and not used_names[get_name(group)]
    used_names[get_name(group)] = true
  end
  distinguish(groups, function(group) return group.digest:sub(1, 6) end)
  distinguish(groups, function(group) return "data " .. (group.data or "unknown") end)
  local axes = make_axes(groups, uses_spec_names)
  local tasks = axes[1].values
  return complete_study({ title = #tasks == 1 and "Runs of " .. tasks[1] or "Runs", cells = groups,
    is_from_folder = true,
    scored = DEFAULT_SCORED, problems = problems, axes = axes }, metric)
end

return M
