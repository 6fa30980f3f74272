-- Watches a study that other processes sweep: reads the files of its runs repeatedly, and shows their states.
--
-- Input: the options of the verb sweep, among them `seconds` (between two readings) and `once` (a single reading);
-- hooks, two functions for the attempts of Slurm's tasks (slurm/attempts.lua), which return nil if they find nothing:
--   find_attempt(out, run)      returns the attempt with the most progress, { dir }
--   find_error(out, run, dir)   returns the reason for a failure, from the log
-- Output: an exit code; the view on stdout. A finished run is not read again.

local failures = require("lab.study.run.failures")
local run_progress = require("lab.study.run.run_progress")
local grid = require("lab.study.grid.grid")
local ledger = require("lab.study.run.ledger")
local lfs = require("lfs")
local lists = require("base.lists")
local overview = require("lab.study.run.overview")
local run_files = require("lab.study.read.run_files")
local shell = require("base.shell")
local progress_text = require("lab.study.run.progress_text")

local M = {}

local DONE, INPUT = 0, 1
local SECONDS = 5 -- between two readings
local FIRST_SIGNAL_CODE = 128 -- exit codes from this one on stand for a signal

-- If the user gave neither --scale nor --set, takes both from the study's last sweep, as noted in the folder of runs. A
-- study from flags (flag_study) needs neither.
local function adopt_sweep_settings(options)
  if options.scale or #options.set > 0 or options.flag_study then
    return
  end
  local name = options.study:match("([^/]*)$"):gsub("%.lua$", "")
  for _, record in ipairs(run_files.read_records(options.out)) do
    if record.study == name then
      options.scale, options.set = type(record.scale) == "string" and record.scale or nil, record.set or {}
    end
  end
end

-- Expands the study. Its runs are "waiting" until their files are read.
local function expand(options)
  local study, message = grid.expand(options.project, options.study, options)
  for _, cell in ipairs(study and study.cells or {}) do
    cell.goal = cell.spec and ledger.derive_goal(cell)
    for _, run in ipairs(cell.runs) do
      run.state = "waiting"
    end
  end
  return study, message
end

local function exists(path)
  return lfs.attributes(path, "mode") ~= nil
end

-- Whether the spec of a cell that waited for another cell's run exists now.
local function has_new_spec(options, study)
  return lists.find(study.cells, function(cell)
    local file = not cell.spec and cell.source and cell.source.file
    return file and exists(options.out .. "/" .. file)
  end) ~= nil
end

-- Reads the progress of a cell's unfinished runs, from their own folders or from attempts.
local function read_cell(options, cell, hooks, locks, now)
  local has_attempts = exists(("%s/%s/.attempts"):format(options.out, cell.runs[1].dir:match("^(.*)/")))
  for _, run in ipairs(cell.runs) do
    if run.state ~= "done" then
      local dir = options.out .. "/" .. run.dir
      local attempt = has_attempts and not exists(dir .. "/run.json") and hooks.find_attempt(options.out, run)
      run_progress.read(cell, run, attempt and attempt.dir or dir, locks, now)
    end
  end
end

-- Returns the reason for a run's failure. The logs are read again only after the run's run.json has changed.
local function find_reason(options, run, hooks, logs)
  local files = run.files -- files["run.json"] changes with the file (run_progress.lua)
  if files.explained ~= files["run.json"] then
    local log = ("%s/%s/log.txt"):format(options.out, run.dir:match("^(.*)/"))
    logs[log] = logs[log] or failures.read_last_lines(log)
    files.explained = files["run.json"]
    files.reason = hooks.find_error(options.out, run, files.dir) or failures.find_error(logs[log], run)
      or ("exit code %d"):format(files.exit)
  end
  return files.reason
end

local function list_failed(options, study, hooks)
  local logs = {}
  return lists.collect(study.cells, function(cell)
    return lists.map(cell.runs, function(run)
      return run.state == "failed" and { name = ("%s %s"):format(cell.id, grid.name_run(run)),
        reason = find_reason(options, run, hooks, logs) } or nil
    end)
  end)
end

-- Shows the states; returns whether all runs are done. printed: the texts that a display without redrawing has printed:
--   [text]   true for the text of a failure
--   last     the last line of totals
local function show(options, study, display, estimate_seconds_left, failed, printed)
  local lines, columns = display:get_size()
  local shown, total = progress_text.format(study, { title = overview.name_study(study), failures = failed,
    columns = columns, lines = lines and lines - 1, seconds_left = estimate_seconds_left })
  if lines or options.once then
    display:show(shown)
    return total.done == total.runs
  end
  for _, failure in ipairs(failed) do
    local text = ("failed: %s: %s"):format(failure.name, failure.reason)
    if not printed[text] then
      display:say(text)
    end
    printed[text] = true
  end
  local text = progress_text.format_total(total, estimate_seconds_left(total))
  if text ~= printed.last then
    display:say(text)
  end
  printed.last = text
  return total.done == total.runs
end

function M.run(options, hooks)
  adopt_sweep_settings(options)
  local study = overview.must(INPUT, expand(options))
  local display, estimate_seconds_left, printed = progress_text.open_display(1), progress_text.make_time_estimator(), {}
  while true do
    if has_new_spec(options, study) then
      study = expand(options) or study
    end
    local locks, now = ledger.read_locks(), os.time()
    for _, cell in ipairs(lists.filter(study.cells, function(cell) return cell.spec end)) do
      read_cell(options, cell, hooks, locks, now)
    end
    local is_done = show(options, study, display, estimate_seconds_left, list_failed(options, study, hooks), printed)
    if is_done or options.once then
      return DONE
    end
    local code = shell.run({ "sleep", options.seconds or SECONDS })
    if code >= FIRST_SIGNAL_CODE then -- a Ctrl-C ends the process that sleeps
      return code
    end
  end
end

return M
