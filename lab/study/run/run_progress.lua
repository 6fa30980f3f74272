-- The progress of runs from the ends of their files, which other processes may be writing.
--
-- Input: a cell with the requirements on its runs (ledger.derive_wanted), one of its runs, the folder of the run.
-- Output: run.state as in ledger.lua, and run.progress = { step, accuracy, rate (steps per second, as the trainer
-- prints it), work, evaluated (lengths; nil before the first) }. A file is read again if its size, time or inode has
-- changed. A run that has not ended is "running" while a process on this machine holds its lock, or if its files have
-- grown recently by this machine's clock; at the first reading, the times of the files are used, with a margin for
-- clocks that differ. Writes nothing.

local input = require("base.input")
local ledger = require("lab.study.run.ledger")
local lfs = require("lfs")
local run_files = require("lab.study.read.run_files")

local M = {}

local END = 512 -- bytes at the end of run.json that record the end of a run
local QUIET, QUIET_AT_FIRST = 120, 900 -- seconds without a change until a run counts as not running
local LINES = 3 -- lines by which metrics.jsonl may lag behind

-- Records a file's state in `seen`. Returns whether the file has changed since it was last seen, and its time.
local function note_change(seen, path, name)
  local found, before = lfs.attributes(path .. "/" .. name), seen[name]
  local is_file = found and found.mode == "file"
  seen[name] = is_file and ("%d %d %d"):format(found.size, found.modification, found.ino) or nil
  return seen[name] ~= before, is_file and found.modification
end

local function find_state(cell, run, seen, dir, locks, now)
  if not seen["run.json"] then
    return "absent"
  elseif seen.exit == 0 then
    seen.settled = seen.settled or ledger.read_state(dir, cell.wanted, {})
    return seen.settled
  elseif seen.exit then
    return run_files.has_failed(seen.exit) and "failed" or "stopped"
  end
  local cadence = run.progress.rate and run.progress.rate > 0 and cell.wanted.log_every
  local patience = math.max(QUIET, cadence and LINES * cadence / run.progress.rate or 0)
  local held = locks[lfs.attributes(dir .. "/lock", "ino") or false]
  return (held or now - seen.sign <= patience) and "running" or "stopped"
end

-- Reads the progress of a run in `dir`. locks: from ledger.read_locks; now: seconds of this machine's clock. run.seen
-- has the states of the files by name, dir, exit (that of run.json), sign (the time of the last sign of life), first
-- (true until the files are read for the first time) and settled (the state of a run that has ended).
function M.read(cell, run, dir, locks, now)
  local seen = run.seen
  if not seen or seen.dir ~= dir then
    seen = { dir = dir, first = not seen, sign = now }
    run.seen, run.progress = seen, run.progress or { step = 0, work = 0 }
  end
  local ended = note_change(seen, dir, "run.json")
  local logged, metrics_time = note_change(seen, dir, "metrics.jsonl")
  local evaluated, eval_time = note_change(seen, dir, "eval.jsonl")
  if ended then
    local text = input.read_end(dir .. "/run.json", END) or ""
    seen.exit = math.tointeger(tonumber(text:match('"exit":(%d+)}%s*$')))
  end
  if logged or evaluated or ended then
    seen.settled = nil
    run.progress = ledger.read_progress(dir, cell.wanted)
    local written = math.max(metrics_time or 0, eval_time or 0)
    local old = seen.first and written > 0 and now - written > QUIET_AT_FIRST
    seen.sign = old and now - math.max(QUIET_AT_FIRST, now - written) or now
    seen.first = nil
  end
  run.state = find_state(cell, run, seen, dir, locks, now)
  if seen["run.json"] then
    ledger.learn_steps(cell, dir)
  end
end

return M
