-- Does the missing work of a study: builds its trainers, and trains and evaluates its runs, several at a time.
--
-- Output: an exit code; results on stdout, other messages on stderr. The folders of the runs are the only record of
-- progress: the same command continues after any interruption. Two sweeps share the work, since trainers lock folders.
-- Input: the options of the verb, among them
--   action   "run", "status" or "dry_run"
--   study, scale, set, choice, flag_study   for grid.expand
--   jobs     the number of concurrent cells, or nil
--   hours    the hours after which no further run starts, or nil
--   out      the folder of all runs
--   device, target, arch, jit, cuda_root   for trainers
--   hooks    nil, or functions for unfinished runs of Slurm's tasks: { take_on, tidy } (slurm.lua)

local build = require("render.builds.build")
local defaults = require("plan.deriving.defaults")
local estimate = require("lab.study.run.estimate")
local failures = require("lab.study.run.failures")
local run_progress = require("lab.study.run.run_progress")
local grid = require("lab.study.grid.grid")
local waiting_cells = require("lab.study.run.waiting_cells")
local inside = require("lab.study.run.inside")
local jobs = require("lab.study.run.jobs")
local ledger = require("lab.study.run.ledger")
local lfs = require("lfs")
local lists = require("base.lists")
local overview = require("lab.study.run.overview")
local seeds = require("lab.study.read.seeds")
local set_aside = require("lab.study.run.set_aside")
local shell = require("base.shell")
local escape = require("base.escape")
local trainer_flags = require("spec.trainer_flags")
local trainers = require("lab.study.run.trainers")
local progress_text = require("lab.study.run.progress_text")
local wording = require("base.wording")

local M = {}

local must, say = overview.must, overview.print

local DONE, INPUT, ENVIRONMENT, AGAIN = 0, 1, 4, 75
local LOG_LINES = 8 -- the maximum number of lines of one error in a message

local function list_cells_to_do(study, tried_cells)
  return lists.filter(study.cells, function(cell) return #cell.missing > 0 and not tried_cells[cell.id] end)
end

-- Returns the number of concurrent cells, and the threads of each. Runs of a cell train side by side, one thread each.
-- If a cell has fewer runs than there are processors, several cells train at a time. The default for a GPU is one cell.
local function share_processors(options, cells)
  local processors = build.count_processors()
  local max_runs = math.max(1, lists.max(cells, function(cell) return #cell.missing end))
  if options.device ~= "cpu" then
    return options.jobs or 1, processors
  elseif options.jobs then
    return options.jobs, math.max(1, processors // options.jobs)
  end
  local threads = math.min(max_runs, processors)
  return math.max(1, processors // threads), threads
end

-- Returns the words of a command that calls an item's trainer (trainers.lua) with the item's defaults.
local function make_words(item, ...)
  return { "env", defaults.make_environment(item.job.defaults), item.dir .. "/trainer", ... }
end

-- Whether a subset of a cell's runs (grid.make_flags) contains a run.
local function has_run(subset, run)
  local function is_within(range, seed)
    return seed >= range[1] and seed <= range[2]
  end
  return lists.has(subset.learning_rates, run.learning_rate) and is_within(subset.seeds, run.seed)
    and not lists.any(seeds.PARTS, function(name)
      return subset.part_seeds[name] and not is_within(subset.part_seeds[name], seeds.get(run, name))
    end)
end

-- Splits a cell's missing runs into subsets of at most `max_runs` runs. A process trains the runs of a subset:
--   learning_rates, seeds, part_seeds   values of flags (grid.make_flags)
--   runs                                the missing runs with these values
local function split_cell(cell, max_runs)
  local subsets = { { part_seeds = {} } }
  -- Splits every subset by the values of one flag: a smaller subset has at most `max_runs` of these values.
  -- make_fields(subset, list): returns the fields for the values in `list`.
  local function split(values, make_fields)
    local size = math.min(max_runs, #values)
    max_runs = max_runs // size -- the limit for the next flag
    subsets = lists.collect(subsets, function(subset)
      local smaller_subsets = {}
      for i = 1, #values, size do
        local list = table.move(values, i, math.min(i + size - 1, #values), 1, {})
        smaller_subsets[#smaller_subsets + 1] = lists.merge(subset, make_fields(subset, list))
      end
      return smaller_subsets
    end)
  end
  split(cell.learning_rates, function(_, list) return { learning_rates = list } end)
  split(cell.seeds, function(_, list) return { seeds = { list[1], list[#list] } } end)
  for _, name in ipairs(seeds.PARTS) do
    local values = lists.get(cell.seeds, "part_seeds." .. name)
    if values then
      split(values, function(subset, list)
        return { part_seeds = lists.merge(subset.part_seeds, { [name] = { list[1], list[#list] } }) }
      end)
    end
  end
  return lists.filter(subsets, function(subset)
    subset.runs = lists.filter(cell.missing, function(run) return has_run(subset, run) end)
    return #subset.runs > 0
  end)
end

-- Returns a job for a subset of a cell's runs, or nil and a message. Fields of a job:
--   cell, runs   the cell, and the runs of the subset
--   log          the path of the log
--   log_from     the size of the log before the job, in bytes
--   line         the command, a line of shell
local function make_job(options, item, subset, threads)
  local cell = item.cell
  local log = ("%s/%s/%s/log.txt"):format(options.out, cell.id, cell.spec.plan.digest)
  local is_made, message = inside.make_parent(options.out, log)
  if not is_made then
    return nil, message
  end
  local words = make_words(item, "train", "--missing", "--out", options.out, "--threads", threads)
  lists.append(words, grid.make_flags(subset, options.device))
  lists.append(words, trainer_flags.list_training(cell.spec.data_files))
  return { cell = cell, runs = subset.runs, log = log, log_from = lfs.attributes(log, "size") or 0,
    line = ("%s >>%s 2>&1"):format(shell.join(words), escape.shell(log)) }
end

local function read_progress(job, locks)
  for _, run in ipairs(job.runs) do
    run_progress.read(job.cell, run, run.path, locks, os.time())
  end
end

local function is_past_deadline(options)
  return options.deadline ~= nil and os.time() >= options.deadline
end

-- One round of training:
--   options, study, display   of the sweep
--   jobs                      a list of jobs (make_job)
--   failed_count              the number of failed runs
--   ended_count               the number of ended jobs
--   code                      the exit code
--   estimate_seconds_left     a function, from progress_text.make_time_estimator
--   is_over                   whether the hours of the sweep are over
local Round = {}
Round.__index = Round

-- Reads the progress of earlier sweeps' runs: the progress table needs their accuracies and the steps of an epoch.
function Round:read_earlier_progress()
  for _, cell in ipairs(self.study.cells) do
    for _, run in ipairs(cell.goal and cell.runs or {}) do
      if run.state ~= "absent" then
        ledger.learn_steps(cell, run.path)
        run.progress = ledger.read_progress(run.path, cell.goal)
      end
    end
  end
end

-- Reads the progress of running jobs and shows it.
function Round:show()
  local locks = ledger.read_locks()
  for _, job in ipairs(self.jobs) do
    if job.start_time and not job.has_ended then
      read_progress(job, locks)
    end
  end
  local lines, columns = self.display:get_size()
  local shown, total = progress_text.format(self.study, { title = overview.name_study(self.study), failures = {},
    seconds_left = self.estimate_seconds_left, lines = lines and lines - 1, columns = columns })
  self.display:show(lines and shown or { progress_text.format_total(total, self.estimate_seconds_left(total)) })
end

local function describe_failure(job, failed_count, status)
  local ending = status > 128 and ("killed by signal %d"):format(status - 128) or ("exit code %d"):format(status)
  local reason = failures.format_errors(job.log, job.log_from, LOG_LINES, job.runs)
  return ("%s: %d of %s failed (%s)%s%s"):format(job.cell.id, failed_count, wording.count(#job.runs, "run"), ending,
    reason and "; from " .. job.log .. ":\n" or "; there is no reason in " .. job.log, reason or "")
end

-- Reports the end of job i. status: the job's exit code; runner: the object of jobs.lua. After an error of the machine,
-- no further job starts.
function Round:finish(i, status, runner)
  local job, locks, undone_count = self.jobs[i], ledger.read_locks(), 0
  local cell = job.cell
  read_progress(job, locks)
  job.has_ended, self.ended_count = true, self.ended_count + 1
  for _, run in ipairs(job.runs) do
    run.state = ledger.read_state(run.path, cell.goal, locks)
    undone_count = undone_count + (run.state == "done" and 0 or 1)
  end
  if status == AGAIN or runner.is_stopped and status > 128 then
    self.code = AGAIN
  elseif status == 0 then
    self.display:say(("[%d/%d] %s: %s done in %s%s"):format(self.ended_count, #self.jobs, cell.id,
      wording.count(#job.runs - undone_count, "run"), wording.format_duration(os.time() - job.start_time),
      undone_count > 0 and (", %d with another process"):format(undone_count) or ""))
  else
    self.failed_count = self.failed_count + undone_count
    self.code = (status == ENVIRONMENT or self.code == ENVIRONMENT) and ENVIRONMENT or INPUT
    self.display:say(("[%d/%d] %s"):format(self.ended_count, #self.jobs, describe_failure(job, undone_count, status)))
  end
  if status == ENVIRONMENT then
    self.display:say("no further run is started, because other runs may fail too; running trainings continue")
    runner:drain()
  end
end

function Round:tick(runner)
  if not self.is_over and is_past_deadline(self.options) then
    self.is_over = true
    runner:drain()
  end
  if self.display:is_due() then
    self:show()
  end
end

-- Makes the jobs of cells with a trainer. Returns true, or nil after an error, which is printed.
function Round:prepare(items, threads)
  -- With --hours on a CPU, a process gets at most one run for each thread, so that its runs begin at once. Further runs
  -- begin in later processes, unless the hours are over.
  local max_runs = self.options.deadline and self.options.device == "cpu" and threads or math.maxinteger
  for _, item in ipairs(items) do
    local is_ready, message = true, nil
    if item.is_fresh then
      is_ready, message = set_aside.move_damaged(self.options.out, item.cell, item.cell.missing)
    end
    if is_ready and item.is_fresh and self.options.hooks then
      self.options.hooks.take_on(item.cell, make_words(item, "info", "--json"))
    end
    for _, subset in ipairs(item.is_fresh and split_cell(item.cell, max_runs) or {}) do
      local job
      if is_ready then
        job, message = make_job(self.options, item, subset, threads)
      end
      if not job then
        say("longhand: ", message)
        self.code = ENVIRONMENT
        return nil
      end
      self.jobs[#self.jobs + 1] = job
    end
    if not item.is_fresh then
      self.failed_count = self.failed_count + #item.cell.missing
      self.code = math.max(self.code, item.code == ENVIRONMENT and ENVIRONMENT or INPUT)
    end
  end
  return true
end

-- Trains the runs of cells with a trainer, at most `max_concurrent` jobs at a time. Returns a result of jobs.run.
function Round:train(items, max_concurrent, threads)
  if not self:prepare(items, threads) then
    return "done"
  end
  local lines = lists.map(self.jobs, function(job) return job.line end)
  self:read_earlier_progress()
  local outcome = jobs.run(self.options.project, lines, max_concurrent, {
    start = function(i) self.jobs[i].start_time = os.time() end,
    finish = function(i, status, runner) self:finish(i, status, runner) end,
    tick = function(runner) self:tick(runner) end,
  })
  self.display:wipe()
  return outcome
end

-- Prints the result of a sweep and returns the sweep's exit code.
--   outcome        the last outcome of train_round or waiting_cells.make_specs
--   code           the worst exit code
--   failed_count   the number of failed runs
--   start_time     the time at which the sweep began
local function conclude(options, study, outcome, code, failed_count, start_time)
  ledger.survey(study, options.out)
  if options.hooks then
    options.hooks.tidy(study)
  end
  local counts = overview.count_states(study)
  -- unfinished runs of cells with a missing data file
  local without_files_count = overview.count_states({ cells = lists.filter(study.cells, function(cell)
    return cell.spec and cell.missing_files[1]
  end) }).left
  -- runs that are left out, since a link is in their path
  local linked_count = lists.count(overview.list_runs(study), function(run) return run.link end)
  local other_counts = { { counts["trained further"], "trained further" }, { failed_count, "failed" },
    { without_files_count, "without their files" }, { linked_count, "behind links" },
    { counts.running, "with other processes" }, { counts.waiting, "waiting" } }
  io.stdout:write(("%s: %d of %s%s done%s, in %s; to see the results: ./longhand report %s\n"):format(
    overview.name_study(study), counts.done, wording.count(counts.runs, "run"), overview.format_selection(study),
    overview.join_counts(other_counts), wording.format_duration(os.time() - start_time), options.out))
  if outcome == "lost" then
    say("the process that starts the trainers has ended; the same command continues their runs")
    return ENVIRONMENT
  elseif code == ENVIRONMENT then
    return ENVIRONMENT
  elseif outcome == "drained" or is_past_deadline(options) and counts.waiting > 0 then
    say(("--hours %s: the time is over, and no further run was started; the same command continues"):format(
      grid.format_shortest(options.hours)))
    return AGAIN
  elseif outcome == "stopped" or code == AGAIN then
    say("stopped; running trainings have written checkpoints; the same command continues the runs")
    return AGAIN
  elseif code == DONE and counts.waiting > 0 and #study.cells < #study.ids then
    say("not all is done: waiting cells need runs of cells that are not selected")
    return AGAIN
  elseif code == DONE and without_files_count + linked_count > 0 then
    return INPUT
  elseif code == DONE and counts.left > 0 then
    say("not all is done; once the other processes have ended, the same command does the rest")
    return AGAIN
  end
  return code
end

local function announce(study, counts, options, concurrent_cells, threads)
  local shares = concurrent_cells and ("; %s at a time, %s each"):format(wording.count(concurrent_cells, "cell"),
    wording.count(threads, "thread")) or ""
  say(("%s: %s, %s: %d done, %d to do in %s%s"):format(overview.name_study(study), overview.format_cell_count(study),
    wording.count(counts.runs, "run"), counts.done, counts.left, options.out, shares))
  overview.print_states(study)
end

-- Builds the trainers of cells that are not in `tried_cells` (a set of ids), and trains their runs. Adds these cells to
-- the set. Returns a result of jobs.run, the worst exit code and the number of failed runs.
local function train_round(options, study, tried_cells)
  local cells = list_cells_to_do(study, tried_cells)
  local concurrent_cells, threads = share_processors(options, cells)
  announce(study, overview.count_states(study), options, #cells > 0 and concurrent_cells, threads)
  if #cells == 0 then
    return "done", DONE, 0
  elseif is_past_deadline(options) then
    return "drained", DONE, 0
  end
  local items = trainers.list(options.project, cells, options)
  for _, cell in ipairs(cells) do
    tried_cells[cell.id] = true
  end
  local display = progress_text.open_display(2)
  local round = setmetatable({ options = options, study = study, display = display, jobs = {}, failed_count = 0,
    ended_count = 0, estimate_seconds_left = progress_text.make_time_estimator(), code = DONE }, Round)
  local outcome = trainers.build(options.project, items)
  if outcome == "done" then
    outcome = is_past_deadline(options) and "drained" or round:train(items, concurrent_cells, threads)
  end
  return outcome, round.code, round.failed_count
end

-- Trains the runs of cells with a spec, makes the specs of cells that depend on these runs, and repeats this until no
-- new spec can be made.
local function sweep_all(options, study)
  local start_time, worst_code, failed_count, tried_cells, failed_files = os.time(), DONE, 0, {}, {}
  options.deadline = options.hours and start_time + 3600 * options.hours
  while true do
    must(ENVIRONMENT, overview.write_note(options, study))
    local outcome, code, round_failed_count = train_round(options, study, tried_cells)
    local has_new_specs = false
    worst_code, failed_count = waiting_cells.choose_worse(worst_code, code), failed_count + round_failed_count
    if outcome == "done" and code ~= ENVIRONMENT and not is_past_deadline(options) then
      ledger.survey(study, options.out)
      outcome, code, has_new_specs = waiting_cells.make_specs(options, study, failed_files)
      worst_code = waiting_cells.choose_worse(worst_code, code)
    end
    if not has_new_specs then
      return conclude(options, study, outcome, worst_code, failed_count, start_time)
    end
    study = must(INPUT, overview.expand(options))
  end
end

-- Prints an estimate of the time. Returns an exit code.
local function dry_run(options, study)
  local counts, cells = overview.count_states(study), list_cells_to_do(study, {})
  local concurrent_cells, threads = share_processors(options, cells)
  announce(study, counts, options, #cells > 0 and concurrent_cells, threads)
  if counts.waiting > 0 then
    say(("not counted: %s that wait for other runs"):format(wording.count(counts.waiting, "run")))
  end
  if #cells == 0 then
    return DONE
  end
  local items = trainers.list(options.project, cells, options)
  local settings = { threads = build.count_processors(), device = options.device,
    replicas = concurrent_cells * threads }
  local code, lines, notes = DONE, nil, nil
  local can_estimate = estimate.has_records(items, settings)
  if not can_estimate then
    can_estimate, code = trainers.ensure_one(options.project, estimate.filter_with_steps(items))
  end
  if can_estimate then
    lines, notes = estimate.format(study, items, settings)
  end
  if not lines then
    say("no trainer could be measured")
    return code ~= DONE and code or INPUT
  end
  local build_count = lists.count(items, function(item) return not item.is_compiled and not item.is_fresh end)
  io.stdout:write(("%s to build\n%s\n"):format(wording.count(build_count, "trainer"), table.concat(lines, "\n")))
  for _, note in ipairs(notes) do
    say(note)
  end
  return DONE
end

function M.run(options)
  local study = must(INPUT, overview.expand(options))
  if options.action == "status" then
    return overview.print_status(options, study) and DONE or INPUT
  end
  return (options.action == "dry_run" and dry_run or sweep_all)(options, study)
end

return M
