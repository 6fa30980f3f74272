-- The progress of a study, as the folders of its runs record it; a sweep keeps no other record of progress.
--
-- Input: the folder of all runs, cells of a study (grid.lua). Output: the goal of a cell, that is, what makes its runs
-- complete; the state and the progress of a run. Reads files, writes none; a file that grows is read up to its last
-- complete line.

local canonical = require("base.canonical")
local costs = require("plan.deriving.costs")
local inside = require("lab.study.run.inside")
local lfs = require("lfs")
local lists = require("base.lists")
local measures = require("spec.measures")
local run_files = require("lab.study.read.run_files")
local safetensors = require("base.safetensors")
local tasks = require("spec.task.tasks")
local wording = require("base.wording")
local validation = require("spec.rules.validation")
local write = require("base.write")
local file_digest = require("lab.study.read.file_digest")

local M = {}

local DIGITS = 16 -- digits of a file's SHA-256 in a line of eval.jsonl

-- Sets of dataset files:
--   split   the name of the set as a split
--   field   the field of a spec's task that names the set's file
--   key     the beginning of keys in the field `data` of run.json
local SETS = { { split = "train", field = "data", key = "train" }, { split = "test", field = "eval", key = "eval" },
  { split = "validation", field = "validation", key = "validation" } }

-- Returns the evaluated sets, rows of SETS: the sets that the spec names, or else the held-out sets, or else the
-- training examples. splits: the names in the spec, or nil; files: a spec's data_files.
function M.list_evaluated_sets(splits, files)
  local requested = lists.to_set(splits or {})
  if not next(requested) then
    requested.test, requested.validation = files.eval ~= nil, files.validation ~= nil
    requested.train = not files.eval and not files.validation
  end
  return lists.filter(SETS, function(set) return requested[set.split] end)
end

-- Returns the requirements on the evaluation of dataset files; nil for other tasks. The conditions in a file are not
-- listed: only the trainer knows them, and it evaluates all of them before a run ends successfully.
--   sets           a list of { split, key, shown, digest }: shown, the path of the set's file; digest, the file's
--                  SHA-256, nil if the file is missing
--   max_examples   the maximum number of examples of each condition
--   axes           { [name] = true }, the names of the evaluated axes
--   order, draws, decoding, places   from the spec, with defaults
local function derive_files_goal(cell, decoding)
  local eval, files = cell.spec.resolved.eval, cell.spec.data_files
  if not files.data then
    return nil
  end
  local goal = { max_examples = eval.examples == "all" and math.huge or eval.examples,
    order = eval.order or "hash", draws = cell.spec.plan.any_draws and eval.draws or 1,
    decoding = decoding, places = eval.places }
  goal.sets = lists.map(M.list_evaluated_sets(eval.splits, files), function(set)
    local file = files[set.field]
    return file and lists.merge(set, { shown = file.shown, digest = file_digest.compute(file.real) }) or nil
  end)
  goal.axes = lists.to_set(canonical.sort_keys(eval.by or { length = true }))
  return goal
end

-- Whether a line has the requested examples. line.of: the number of all examples; nil if all were evaluated.
local function is_requested(line, goal)
  if line.of then
    return line.examples == goal.max_examples and line.order == goal.order
  end
  return line.examples <= goal.max_examples
end

local function belongs_to(line, set)
  return not set.digest or line.data == set.digest:sub(1, DIGITS)
end

-- Whether a row of eval.jsonl has the requested decoding and, if requested, accuracies by place. A row without counted
-- labels has no accuracies by place.
local function is_complete(row, goal)
  return (not goal.decoding or row.decoding == goal.decoding)
    and (not goal.places or row.places ~= nil or row.counted == 0)
end

-- Reads the lines of eval.jsonl for a step with the requested draws, axes and decoding. Returns { [split] = {
-- [condition] = line } }; or nil and a text on damage. A later line of a condition replaces an earlier line, unless
-- only the earlier line fits the goal.
local function read_lines(dir, goal, step)
  local lines, sets = {}, lists.index_by(goal.sets, function(set) return set.split end)
  local damage = run_files.read_evaluations(dir, {}, function(row)
    local axis_values = row.by or { length = row.length }
    local extra_axis = lists.find(canonical.sort_keys(axis_values), function(name) return not goal.axes[name] end)
    if row.step == step and not row.seed and row.draws == goal.draws and not extra_axis
      and is_complete(row, goal) then
      local set, key = sets[row.split], canonical.format(axis_values)
      local line = { examples = row.examples, of = row.of, order = row.order or "hash", data = row.data }
      line.is_requested = set and belongs_to(line, set) and is_requested(line, goal)
      lines[row.split] = lines[row.split] or {}
      local earlier_line = lines[row.split][key]
      if not earlier_line or not earlier_line.is_requested or line.is_requested then
        lines[row.split][key] = line
      end
    end
  end)
  return not damage and lines or nil, damage
end

-- Returns a text on what the evaluation of a set lacks; nil if the evaluation is as requested.
local function find_set_problem(set, lines, goal, facts)
  local other_bytes_text = ("%s has other bytes than the file that was evaluated"):format(set.shown)
  local recorded_digest = (facts.data or {})[set.key .. "_sha256"]
  if not lines then
    return ("%s is not evaluated as requested"):format(set.shown)
  elseif set.digest and recorded_digest and recorded_digest ~= set.digest then
    return other_bytes_text -- even if eval.jsonl has lines for the new bytes: readers of runs trust run.json
  end
  for _, line in pairs(lines) do
    if not belongs_to(line, set) then
      return other_bytes_text
    elseif not is_requested(line, goal) then
      return ("other examples of %s are requested"):format(set.shown)
    end
  end
end

-- Returns a text on what the last evaluation lacks, or nil; and a text on damage, or nil. If a set's file is missing,
-- lines of any file count.
local function find_files_problem(dir, goal, facts)
  local lines, damage = read_lines(dir, goal, facts.step)
  return lists.map(lines and goal.sets or {}, function(set)
    return find_set_problem(set, lines[set.split], goal, facts)
  end)[1], damage
end

-- Returns a function from a length of a sampled task to its split, as trainers name it (runtime/eval/results.c).
local function make_splitter(training_lengths)
  local trained_lengths = lists.to_set(training_lengths)
  local max_length = lists.max(training_lengths, function(n) return n end)
  return function(n)
    return trained_lengths[n] and "in_distribution" or n < max_length and "between" or "beyond"
  end
end

local function format_condition(split, length, examples, draws)
  return ("%s %d %d %d"):format(split, length, examples, draws)
end

-- Sets the fields of a goal that depend on the number of steps, which may be nil.
local function set_steps(goal, cell, steps)
  local train = cell.spec.resolved.train
  goal.total = steps
  goal.log_every = train.cadence ~= "epochs" and train.log_every or steps
  goal.train_work = (steps or 0) * cell.spec.plan.flops_per_step
  goal.work = goal.train_work + (goal.eval_work[#goal.eval_work] or 0)
end

-- Returns the goal of a cell:
--   steps        the spec's number of steps; nil if the spec counts epochs
--   epochs       the spec's number of epochs; nil if the spec counts steps
--   total        the number of steps in both cases; nil while the length of an epoch is unknown
--   conditions   { [text] = true }, the conditions to evaluate
--   lengths      the lengths to evaluate
--   log_every    the number of steps between two lines of metrics.jsonl; an upper bound if the spec sets it in epochs
--   train_work   the number of operations of training
--   eval_work    for each length, the number of operations of evaluation up to and including this length
--   work         the number of all operations
--   files        from derive_files_goal
--   decoding     the decoding of a generative model; nil for other models
--   places       whether accuracies by place are requested
function M.derive_goal(cell)
  local plan, resolved, task = cell.spec.plan, cell.spec.resolved, cell.spec.task
  local eval, find_split = resolved.eval, make_splitter(tasks.list_lengths(resolved.train.lengths))
  local work_sum = 0 -- operations of evaluation up to the present length
  local goal = { steps = resolved.train.steps, conditions = {}, lengths = tasks.list_lengths(eval.lengths),
    eval_work = {}, epochs = resolved.train.epochs,
    decoding = measures.is_generative(resolved) and (eval.decoding or "greedy") or nil,
    places = eval.places }
  goal.files = derive_files_goal(cell, goal.decoding)
  local draws = plan.any_draws and eval.draws or 1
  local function count_work(n, examples)
    return costs.count_forward(plan, tasks.count_tokens(task, n)) * examples * draws
  end
  local stream = validation.plan(resolved)
  for _, n in ipairs(stream and stream.lengths or {}) do
    work_sum = work_sum + count_work(n, stream.examples) -- evaluated first, but not required of a complete run
  end
  for i, n in ipairs(goal.lengths) do
    goal.conditions[format_condition(find_split(n), n, eval.examples, draws)] = true
    work_sum = work_sum + count_work(n, eval.examples)
    goal.eval_work[i] = work_sum
  end
  set_steps(goal, cell, resolved.train.steps)
  return goal
end

-- Returns the number of steps that a run must have; nil if the spec counts epochs and no run has recorded the number of
-- steps of an epoch.
local function count_total(goal, facts)
  local batches = facts.data and facts.data.epoch_batches
  if not goal.steps and goal.epochs and batches then
    return goal.epochs * batches
  end
  return goal.steps or goal.total
end

-- Completes cell.goal if the length of an epoch was unknown and the run in `dir` has recorded it.
function M.learn_steps(cell, dir)
  local facts = not cell.goal.total and run_files.read_facts(dir)
  local total = facts and count_total(cell.goal, facts)
  if total then
    set_steps(cell.goal, cell, total)
  end
end

-- Returns the set of inodes that processes of this machine have locked.
function M.read_locks()
  local inodes = lists.find_all(write.read("/proc/locks") or "", "FLOCK%s+ADVISORY%s+WRITE%s+%-?%d+%s+%x+:%x+:(%d+)")
  return lists.to_set(lists.map(inodes, function(inode) return math.tointeger(tonumber(inode)) end))
end

-- Returns
--   the number of requested conditions without a complete line at the last step; nil if eval.jsonl is damaged
--   whether each of these conditions has a line, and all lines have another decoding than requested
--   a text on damage, or nil
local function count_missing(dir, goal, facts)
  local missing_conditions, found_conditions = lists.copy(goal.conditions), {}
  local has_lines, has_decoding = false, false
  local damage = run_files.read_evaluations(dir, {}, function(row)
    if row.step ~= facts.step or row.seed or row.split == "during" then
      return
    end
    local text = row.length and format_condition(row.split, row.length, row.examples, row.draws)
    has_lines, has_decoding = true, has_decoding or not goal.decoding or row.decoding == goal.decoding
    if text and missing_conditions[text] and is_complete(row, goal) then
      missing_conditions[text] = nil
    elseif text then
      found_conditions[text] = true
    end
  end)
  if damage then
    return nil, nil, damage
  end
  local remaining = canonical.sort_keys(missing_conditions)
  local lacks_lines = lists.find(remaining, function(text) return not found_conditions[text] end) ~= nil
  return #remaining, has_lines and not has_decoding and not lacks_lines
end

-- Looks for missing evaluations of a run with all steps. Returns
--   a text on missing evaluations, or nil
--   whether the run was evaluated in another way
--   a text on damage, or nil
local function find_missing(dir, goal, facts)
  if goal.files then
    local problem, damage = find_files_problem(dir, goal.files, facts)
    return problem, problem ~= nil, damage
  end
  local remaining, has_other_decoding, damage = count_missing(dir, goal, facts)
  if damage then
    return nil, false, damage
  elseif has_other_decoding then
    return ("%s decoding is requested"):format(goal.decoding == "greedy" and "greedy" or "teacher-forced"), true
  end
  local verb = remaining == 1 and "is" or "are"
  return remaining > 0 and ("%s %s not evaluated as requested"):format(wording.count(remaining, "length"), verb) or nil,
    false
end

-- Returns the last step of a run that has ended. For a run that has not ended: the step of its checkpoint if more than
-- `total` steps are logged, else 0.
local function find_step(dir, facts, total)
  if facts.step then
    return facts.step
  end
  local row = run_files.read_last_line(dir, "metrics.jsonl")
  local checkpoint = row and row.step > total and safetensors.open(dir .. "/checkpoint.safetensors")
  return checkpoint and math.tointeger(tonumber((checkpoint.metadata or {}).step)) or 0
end

local function format_steps(goal, total)
  return goal.epochs and ("%d (%s)"):format(total, wording.count(goal.epochs, "epoch")) or tostring(total)
end

-- Returns a state and a text for a run with more than `total` steps, and for a run that ended without error but with
-- fewer steps; nil for other runs. If train.patience ended a run, facts.patience_of_steps is the number of steps that
-- was requested. Such a run is complete while `total` is the same number.
local function find_steps_state(goal, facts, step, total)
  if total and step > total then
    return "trained further", ("at step %d; the spec ends at step %s"):format(step, format_steps(goal, total))
  elseif total and facts.exit == 0 and step < total and facts.patience_of_steps ~= total then
    return "to continue", ("from step %d to %s"):format(step, format_steps(goal, total))
  end
end

function M.has_checkpoint(dir)
  return lfs.attributes(dir .. "/checkpoint.safetensors", "mode") ~= nil
    or lfs.attributes(dir .. "/checkpoint.previous.safetensors", "mode") ~= nil
end

-- Returns the state of a run with all steps, by its evaluation. A run that was evaluated in another way counts as done
-- if it has no checkpoint, since a new evaluation would need a new training.
local function find_evaluation_state(dir, goal, facts)
  local problem, was_evaluated_differently, damage = find_missing(dir, goal, facts)
  if damage then
    return "damaged", damage
  elseif problem and was_evaluated_differently and not M.has_checkpoint(dir) then
    return "done", problem .. ", but there is no checkpoint to evaluate"
  end
  return problem and "to evaluate" or "done", problem
end

-- Returns the state of a run by its files alone; and a message on damage or on the remaining work.
local function read_state_in_files(dir, goal)
  local facts, damage = run_files.read_facts(dir, run_files.split_path(dir))
  if not facts then
    return damage and "damaged" or "absent", damage
  elseif run_files.has_failed(facts.exit) then
    return "failed"
  end
  local total = count_total(goal, facts)
  local state, explanation = find_steps_state(goal, facts, total and find_step(dir, facts, total) or 0, total)
  if state or facts.exit ~= 0 then
    return state or "stopped", explanation
  end
  return find_evaluation_state(dir, goal, facts)
end

-- The states of runs other than "done", in the order of reports:
--   running           a process holds the run's lock, or a task of a cluster is at work on it
--   queued            a task in a cluster's queue will train it
--   to continue       it ended without error, but the spec now has more steps
--   to evaluate       it has all steps, but not the requested evaluation
--   trained further   it has more steps than the spec, and is skipped
--   stopped           a signal ended it
--   failed            it ended in an error
--   damaged           its files have invalid contents, or a link is in its path
--   absent            it has no run.json
--   waiting           its cell has no spec yet
M.STATES = { "running", "queued", "to continue", "to evaluate", "trained further", "stopped", "failed", "damaged",
  "absent", "waiting" }

-- Returns the state of a run; and a text on damage, or on the difference between the run and the goal, or nil.
function M.read_state(dir, goal, locks)
  local state, explanation = read_state_in_files(dir, goal)
  if state ~= "done" and locks[lfs.attributes(dir .. "/lock", "ino") or false] then
    return "running"
  end
  return state, explanation
end

-- Returns the number of lengths that the evaluation after training has finished.
local function count_evaluated(dir, goal)
  local row = run_files.read_last_line(dir, "eval.jsonl")
  local is_final = row and row.split ~= "during" and row.split ~= "validation" and row.step == goal.total
  for i, n in ipairs(is_final and goal.lengths or {}) do
    if n == row.by.length then
      return i
    end
  end
  return 0
end

-- Reads the progress of a run from the ends of its files:
--   step        the last logged step
--   accuracy    in this step; nil before the first logged step
--   rate        steps per second; nil before the first logged step
--   evaluated   the number of evaluated lengths; nil before the first
--   work        the operations that are done
function M.read_progress(dir, goal)
  local row = run_files.read_last_line(dir, "metrics.jsonl") or { step = 0 }
  local step, total = row.step, goal.total
  local progress = { step = step, accuracy = row.accuracy or row.accuracy_teacher_forced, rate = row.steps_per_second,
    work = 0 }
  if total then
    progress.work = math.min(1, step / math.max(1, total)) * goal.train_work
  end
  if total and step + goal.log_every > total then
    local count = count_evaluated(dir, goal)
    progress.evaluated = count > 0 and count or nil
    progress.work = count > 0 and goal.train_work + goal.eval_work[count] or progress.work
  end
  return progress
end

local function find_missing_files(cell)
  return lists.map({ "data", "eval", "validation" }, function(name)
    local file = cell.spec.data_files[name]
    return file and lfs.attributes(file.real, "mode") ~= "file" and { field = "task." .. name, shown = file.shown }
      or nil
  end)
end

-- Sets the fields of a cell and of its runs that M.survey describes.
local function survey_cell(cell, out, locks)
  cell.goal, cell.missing, cell.missing_files = M.derive_goal(cell), {}, find_missing_files(cell)
  for _, run in ipairs(cell.runs) do
    run.path = out .. "/" .. run.dir
    run.state, run.explanation = M.read_state(run.path, cell.goal, locks)
    local is_unfinished = run.state ~= "done" and run.state ~= "trained further"
    run.link = is_unfinished and inside.find_link(out, run.path)
    if run.link then
      run.state, run.explanation = "damaged", inside.describe_link(run.link)
    end
    run.damage = run.state == "damaged" and not run.link and run.explanation or nil
    if is_unfinished and not run.link and not cell.missing_files[1] then
      table.insert(cell.missing, run)
    end
  end
end

-- Reads every run of a study below `out`. Sets
--   run.state            the state of M.read_state, or "waiting"
--   cell.missing         the runs that a sweep must train or evaluate, and running runs. No run behind a link is in the
--                        list. Without the cell's spec or one of its data files, the list is empty.
-- In cells with a spec, also sets
--   run.path             the path of the run's folder
--   run.explanation      the text of M.read_state
--   run.damage           a message on damaged files
--   run.link             a link in the path of an unfinished run
--   cell.goal            from M.derive_goal
--   cell.missing_files   missing data files, a list of { field, shown }
function M.survey(study, out)
  local locks = M.read_locks()
  for _, cell in ipairs(study.cells) do
    if cell.spec then
      survey_cell(cell, out, locks)
    else
      cell.missing = {}
      for _, run in ipairs(cell.runs) do
        run.state = "waiting"
      end
    end
  end
end

return M
