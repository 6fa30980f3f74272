-- The progress of runs from the ends of their files, which other processes may be writing.
--
-- Input: a cell with its goal (ledger.derive_goal), one of its runs, the folder of the run.
-- Output: run.state, one of the states of ledger.lua, and run.progress = { step, accuracy, rate (steps per second),
-- work, evaluated (the number of evaluated lengths, nil before the first) }. Writes nothing.
--
-- The rate is measured by this machine's clock; until two readings differ in steps, it is read from the trainer's log.
-- The logged rate is too high if several runs of a process share a thread. A file is read again if its size, time or
-- inode has changed. A run that has not ended is "running" in two cases:
--   a process on this machine holds the run's lock
--   the files of the run have changed recently

local input = require("base.input")
local ledger = require("lab.study.run.ledger")
local lfs = require("lfs")
local run_files = require("lab.study.read.run_files")

local M = {}

local END_BYTES = 512 -- bytes at the end of run.json that record the end of a run
local QUIET_SECONDS = 120 -- files that changed within this time have changed recently
local FIRST_QUIET_SECONDS = 900 -- the same for the first reading, which uses times of files: their clock may differ
local LAG_LINES = 3 -- a slow line of metrics.jsonl may take this many times the usual time of a line

-- Records a file's state in `files`. Returns whether the file has changed since the last call, and the file's time.
local function note_change(files, path, name)
  local attributes, previous = lfs.attributes(path .. "/" .. name), files[name]
  local is_file = attributes and attributes.mode == "file"
  files[name] = is_file and ("%d %d %d"):format(attributes.size, attributes.modification, attributes.ino) or nil
  return files[name] ~= previous, is_file and attributes.modification
end

-- Returns the state of a run. files: run.files, as M.read describes.
local function find_state(cell, run, files, dir, locks, now)
  if not files["run.json"] then
    return "absent"
  elseif files.exit == 0 then
    files.final_state = files.final_state or ledger.read_state(dir, cell.goal, {})
    return files.final_state
  elseif files.exit then
    return run_files.has_failed(files.exit) and "failed" or "stopped"
  end
  local rate, steps_per_line = run.progress.rate or 0, cell.goal.log_every
  local patience = QUIET_SECONDS
  if rate > 0 and steps_per_line then
    patience = math.max(patience, LAG_LINES * steps_per_line / rate)
  end
  local is_locked = locks[lfs.attributes(dir .. "/lock", "ino") or false]
  return (is_locked or now - files.active_at <= patience) and "running" or "stopped"
end

-- Sets progress.rate. The evaluation after training does not change a measured rate.
local function measure_rate(progress, files, now)
  local start = files.rate_start
  if not start or progress.step < start.step then
    files.rate_start = { step = progress.step, time = now }
  elseif progress.step > start.step and now > start.time then
    files.rate = progress.evaluated and files.rate or (progress.step - start.step) / (now - start.time)
  end
  progress.rate = files.rate or progress.rate
end

-- Reads the progress of a run in `dir`. locks: from ledger.read_locks; now: seconds of this machine's clock. Sets
-- run.files, which has for each file's name a text that changes with the file, and
--   dir           the folder
--   exit          the exit code in run.json; nil before the run ends
--   active_at     the time of the last change of a file
--   rate_start    { step, time } of the reading from which the rate is measured
--   rate          the measured rate; nil before the first measurement
--   is_unread     true until the files are read for the first time
--   final_state   the state of a run that has ended
function M.read(cell, run, dir, locks, now)
  local files = run.files
  if not files or files.dir ~= dir then
    files = { dir = dir, is_unread = not files, active_at = now }
    run.files, run.progress = files, run.progress or { step = 0, work = 0 }
  end
  local facts_changed = note_change(files, dir, "run.json")
  local metrics_changed, metrics_time = note_change(files, dir, "metrics.jsonl")
  local evaluations_changed, eval_time = note_change(files, dir, "eval.jsonl")
  if facts_changed then
    local text = input.read_end(dir .. "/run.json", END_BYTES) or ""
    files.exit = math.tointeger(tonumber(text:match('"exit":(%d+)}%s*$')))
  end
  if metrics_changed or evaluations_changed or facts_changed then
    files.final_state = nil
    run.progress = ledger.read_progress(dir, cell.goal)
    measure_rate(run.progress, files, now)
    local write_time = math.max(metrics_time or 0, eval_time or 0)
    local is_old = files.is_unread and write_time > 0 and now - write_time > FIRST_QUIET_SECONDS
    files.active_at = is_old and write_time or now
    files.is_unread = nil
  end
  run.state = find_state(cell, run, files, dir, locks, now)
  if run.state ~= "running" then
    files.rate_start, files.rate = nil, nil -- a later attempt has a rate of its own
  end
  if files["run.json"] then
    ledger.learn_steps(cell, dir)
  end
end

return M
