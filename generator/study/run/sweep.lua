-- Does what is missing of a study: builds its trainers, trains and evaluates its runs, several at a time.
--
-- Input: { project, action, study, scale, set, jobs, out, device, target, arch, jit, cuda_root }. Output: an exit code;
-- results on stdout, the rest on stderr. The folders of the runs are the only record of what is done: whatever was
-- killed, the same command goes on. Two sweeps of one study share the work, since trainers lock their folders.

local board_module = require("study.run.board")
local build = require("render.build")
local defaults = require("plan.defaults")
local estimate = require("study.run.estimate")
local grid = require("study.grid.grid")
local hand_over = require("study.run.hand_over")
local jobs = require("study.run.jobs")
local ledger = require("study.run.ledger")
local lfs = require("lfs")
local overview = require("study.run.overview")
local shell = require("base.shell")
local tongues = require("base.tongues")
local trainer_flags = require("spec.trainer_flags")
local trainers = require("study.run.trainers")
local wording = require("base.wording")
local write = require("base.write")

local M = {}

local counts_of, say, title_of, warn = overview.counts, overview.say, overview.title, overview.warn

local DONE, INPUT, ENVIRONMENT, AGAIN = 0, 1, 4, 75
local LOG_LINES = 8

-- The cells that something is missing of; tried, by id, are those that a sweep has had before.
local function cells_to_do(study, tried)
  local cells = {}
  for _, cell in ipairs(study.cells) do
    cells[#cells + 1] = #cell.missing > 0 and not tried[cell.id] and cell or nil
  end
  return cells
end

-- Cells at a time and threads of each. Runs of a cell train side by side, one thread each; where there are fewer of
-- them than processors, there is room for several cells.
local function shares(options, cells)
  local processors, most = build.processors(), 1
  for _, cell in ipairs(cells) do
    most = math.max(most, #cell.missing)
  end
  if options.device ~= "cpu" then
    return options.jobs or 1, processors
  elseif options.jobs then
    return options.jobs, math.max(1, processors // options.jobs)
  end
  local threads = math.min(most, processors)
  return math.max(1, processors // threads), threads
end

local function train_words(options, item, threads)
  local rates, files = {}, trainer_flags.of_training(item.cell.spec.data_files)
  for i, rate in ipairs(item.cell.learning_rates) do
    rates[i] = grid.shortest(rate)
  end
  local words = { "env", defaults.environment(item.job.defaults), item.dir .. "/trainer", "train", "--missing",
    "--out", options.out, "--threads", threads, "--seeds", ("%d:%d"):format(item.cell.seeds[1],
      item.cell.seeds[#item.cell.seeds]), "--learning-rate", table.concat(rates, ","), "--device", options.device }
  table.move(files, 1, #files, #words + 1, words)
  return words
end

-- A job: the cell, its log, and the line that trains it; or nil and a message.
local function make_job(options, item, threads)
  local cell = item.cell
  local folder = ("%s/%s/%s"):format(options.out, cell.id, cell.spec.plan.digest)
  local made, message = write.make_directory(folder)
  if not made then
    return nil, message
  end
  local log = folder .. "/log.txt"
  if lfs.symlinkattributes(log, "mode") ~= "file" then
    os.remove(log) -- a pipe, or a link that leads out of the folder
  end
  local line = ("%s >>%s 2>&1"):format(shell.line(train_words(options, item, threads)), tongues.shell(log))
  return { cell = cell, log = log, log_from = #(write.read(log) or ""), line = line, work = 0, left = #cell.missing }
end

-- How far the runs of a job are, for the board.
local function look_at(job)
  local cell = job.cell
  local view = { id = cell.id, runs = #cell.missing, steps = cell.wanted.steps, evaluating = 0, rate = 0 }
  local work, steps = 0, 0
  for _, run in ipairs(cell.missing) do
    local far = ledger.progress(run.path, cell.wanted)
    work, steps = work + far.work, steps + far.step
    view.least, view.most = math.min(view.least or far.step, far.step), math.max(view.most or 0, far.step)
    view.evaluating = view.evaluating + (far.evaluated and far.evaluated < #cell.wanted.lengths and 1 or 0)
    if far.accuracy then
      view.worst = math.min(view.worst or far.accuracy, far.accuracy)
      view.best = math.max(view.best or far.accuracy, far.accuracy)
    end
  end
  job.first_work, job.first_steps = job.first_work or work, job.first_steps or steps
  job.work, job.steps = work - job.first_work, steps - job.first_steps
  view.rate = job.steps / math.max(1, os.time() - job.started)
  view.share = work / math.max(1, cell.wanted.work * #cell.missing)
  return view
end

local Sweep = {}
Sweep.__index = Sweep

local function new_sweep(options, study, board)
  local sweep = setmetatable({ options = options, study = study, board = board, jobs = {}, runs = 0, done = 0,
    failed = 0, elsewhere = 0, ended = 0, work = 0, begun = os.time(), code = DONE }, Sweep)
  local counts = counts_of(study)
  sweep.runs, sweep.done = counts.runs, counts.done
  return sweep
end

function Sweep:show()
  local views, work, steps, running, first = {}, 0, 0, 0, 0
  for _, job in ipairs(self.jobs) do
    if job.started and not job.over then
      views[#views + 1] = look_at(job)
      running = running + job.left
    end
    work, steps, first = work + job.work, steps + (job.steps or 0), first + (job.first_work or 0)
  end
  local elapsed = math.max(1, os.time() - self.begun)
  local left = self.work - first - work
  self.board:show({ runs = self.runs, done = self.done, failed = self.failed, elsewhere = self.elsewhere,
    running = running, rate = steps / elapsed, share = self.work > 0 and (first + work) / self.work or 1,
    seconds_left = work > 0 and left / work * elapsed or -1 }, views)
end

-- What to say of a job that failed, with what its log says of it.
local function failure_text(job, failed, status)
  local how = status > 128 and ("killed by signal %d"):format(status - 128) or ("exit code %d"):format(status)
  local words = board_module.failure(job.log, job.log_from, LOG_LINES)
  return ("%s: %d of %s failed (%s)%s%s"):format(job.cell.id, failed, wording.count(#job.cell.missing, "run"), how,
    words and "; from " .. job.log .. ":\n" or "; there is no word of it in " .. job.log, words or "")
end

function Sweep:start(i)
  local job = self.jobs[i]
  job.started = os.time()
  look_at(job)
end

function Sweep:finish(i, status, runner)
  local job = self.jobs[i]
  local cell, locks, undone = job.cell, ledger.locks(), 0
  look_at(job)
  job.over, self.ended = true, self.ended + 1
  for _, run in ipairs(cell.missing) do
    run.state = ledger.state(run.path, cell.wanted, locks)
    undone = undone + (run.state == "done" and 0 or 1)
  end
  self.done = self.done + #cell.missing - undone
  if status == AGAIN or runner.stopped and status > 128 then
    self.code = AGAIN
  elseif status == 0 then
    self.elsewhere = self.elsewhere + undone
    self.board:say(("[%d/%d] %s: %s done in %s%s"):format(self.ended, #self.jobs, cell.id,
      wording.count(#cell.missing - undone, "run"), wording.duration(os.time() - job.started),
      undone > 0 and (", %d with another process"):format(undone) or ""))
  else
    self.failed = self.failed + undone
    self.code = (status == ENVIRONMENT or self.code == ENVIRONMENT) and ENVIRONMENT or INPUT
    self.board:say(("[%d/%d] %s"):format(self.ended, #self.jobs, failure_text(job, undone, status)))
  end
  if status == ENVIRONMENT then
    self.board:say("nothing new is started, since this may well befall the others too; what runs goes on")
    runner:drain()
  end
end

-- Trains what has a trainer. Returns what jobs.run returns.
function Sweep:train(items, most, threads)
  local lines = {}
  for _, item in ipairs(items) do
    if item.fresh then
      local job, message = make_job(self.options, item, threads)
      if not job then
        say("longhand: ", message)
        self.code = ENVIRONMENT
        return "done"
      end
      self.jobs[#self.jobs + 1], lines[#lines + 1] = job, job.line
      self.work = self.work + item.cell.wanted.work * #item.cell.missing
    else
      self.failed = self.failed + #item.cell.missing
      self.code = math.max(self.code, item.code == ENVIRONMENT and ENVIRONMENT or INPUT)
    end
  end
  local how = jobs.run(self.options.project, lines, most, {
    start = function(i) self:start(i) end,
    finish = function(i, status, runner) self:finish(i, status, runner) end,
    tick = function()
      if self.board:due() then
        self:show()
      end
    end,
  })
  self.board:wipe()
  return how
end

-- What a sweep has come to: how, what jobs.run or hand_over.run returned last; code, the worst of what it met; failed,
-- runs.
local function conclude(options, study, how, code, failed, begun)
  ledger.survey(study, options.out)
  local counts = counts_of(study)
  local line = ("%s: %d of %s done"):format(title_of(study), counts.done, wording.count(counts.runs, "run"))
  local rest = { { failed, "failed" }, { counts.running, "with other processes" }, { counts.waiting, "waiting" } }
  for _, part in ipairs(rest) do
    line = line .. (part[1] > 0 and (", %d %s"):format(part[1], part[2]) or "")
  end
  io.stdout:write(("%s, in %s; %s\n"):format(line, wording.duration(os.time() - begun), options.out))
  if how == "lost" then
    say("the process that holds the trainers is not there; the same command goes on")
    return ENVIRONMENT
  elseif code == ENVIRONMENT then
    return ENVIRONMENT
  elseif how == "stopped" or code == AGAIN then
    say("stopped; what was training has written checkpoints, and the same command goes on")
    return AGAIN
  elseif code == DONE and counts.done < counts.runs then
    say("not all is done; the same command, once the other processes are through, does the rest")
    return AGAIN
  end
  return code
end

local function announce(study, counts, options, most, threads)
  local how = most and ("; %s at a time, %s each"):format(wording.count(most, "cell"),
    wording.count(threads, "thread")) or ""
  say(("%s: %s, %s: %d done, %d to do in %s%s"):format(title_of(study), wording.count(counts.cells, "cell"),
    wording.count(counts.runs, "run"), counts.done, counts.runs - counts.done, options.out, how))
end

-- Builds and trains what can be trained now. Returns what jobs.run returns, the worst exit code and how many runs
-- failed; or nil and a code.
local function train_round(options, study, tried)
  local cells = cells_to_do(study, tried)
  local most, threads = shares(options, cells)
  announce(study, counts_of(study), options, #cells > 0 and most, threads)
  if #cells == 0 then
    return "done", DONE, 0
  end
  local items, code, message = trainers.list(options.project, cells, options, warn)
  if not items then
    say("longhand: ", message)
    return nil, code
  end
  for _, cell in ipairs(cells) do
    tried[cell.id] = true
  end
  local board = board_module.open()
  local sweep = new_sweep(options, study, board)
  local how = trainers.build(options.project, items, function(text) board:say(text) end)
  if how == "done" then
    sweep.begun = os.time()
    how = sweep:train(items, most, threads)
  end
  return how, sweep.code, sweep.failed
end

-- Trains what can be, makes the specs of cells that waited for these runs, and so on until nothing more comes of it.
local function go(options, study)
  local noted, message = overview.leave_note(options, study)
  if not noted then
    say("longhand: ", message)
    return ENVIRONMENT
  end
  local begun, worst, failed, tried, refused = os.time(), DONE, 0, {}, {}
  repeat
    local how, code, lost = train_round(options, study, tried)
    local again = false
    if not how then
      return code
    end
    worst, failed = hand_over.worse(worst, code), failed + lost
    if how == "done" and code ~= ENVIRONMENT then
      ledger.survey(study, options.out)
      how, code, again = hand_over.run(options, study, refused)
      worst = hand_over.worse(worst, code)
    end
    if not again then
      return conclude(options, study, how, worst, failed, begun)
    end
    study, message = overview.expand(options)
  until not study
  io.stderr:write(message)
  return INPUT
end

local function dry_run(options, study)
  local counts, cells, stale = counts_of(study), cells_to_do(study, {}), 0
  local most, threads = shares(options, cells)
  announce(study, counts, options, #cells > 0 and most, threads)
  if counts.waiting > 0 then
    io.stdout:write(("not counted: %s that wait for others, which nobody knows yet\n"):format(
      wording.count(counts.waiting, "run")))
  end
  if #cells == 0 then
    return DONE
  end
  local items, code, message = trainers.list(options.project, cells, options, warn)
  if not items then
    say("longhand: ", message)
    return code
  end
  for _, item in ipairs(items) do
    stale = stale + (item.compiled and 0 or 1)
  end
  local one
  one, code = trainers.ensure_one(options.project, items, say)
  local lines = one and estimate.lines(study, items, { threads = build.processors(), device = options.device,
    replicas = most * threads })
  if not lines then
    say("no trainer could be measured")
    return code ~= DONE and code or INPUT
  end
  io.stdout:write(("%s to build\n%s\n"):format(wording.count(stale, "trainer"), table.concat(lines, "\n")))
  return DONE
end

local function status(options, study)
  return overview.print_status(options, study) and DONE or INPUT
end

local ACTIONS = { run = go, dry_run = dry_run, status = status }

-- options.action: run, dry_run or status.
function M.run(options)
  local study, message = overview.expand(options)
  if not study then
    io.stderr:write(message)
    return INPUT
  end
  for _, warning in ipairs(study.warnings) do
    warn(warning)
  end
  return ACTIONS[options.action](options, study)
end

return M
