-- Unfinished runs in the folders of attempts, which task.sh creates:
-- OUT/<id>/<digest>/.attempts/<job>_<task>-<n>/<id>/<digest>/<run>, and .../<job>_<task>-<n>/replaced/<run> for the
-- former folder of a run that a task has replaced. <n> is the first free number from 1.
--
-- Input: the folder of all runs, runs of cells. Output: the attempt with the most progress, and the state of its run.
-- On request, if a run has no folder of its own, moves an attempt there: among the attempts that a trainer without
-- Slurm can continue, the one with the most progress.

local failures = require("lab.study.run.failures")
local input = require("base.input")
local inside = require("lab.study.run.inside")
local ledger = require("lab.study.run.ledger")
local lfs = require("lfs")
local lists = require("base.lists")
local records = require("lab.study.slurm.records")
local run_files = require("lab.study.read.run_files")
local safetensors = require("base.safetensors")
local shell = require("base.shell")
local write = require("base.write")

local M = {}

local TAIL_BYTES = 65536 -- bytes at the end of window.jsonl that surely contain its last line
local TRAINER_FILES = { ["metrics.jsonl"] = true, ["eval.jsonl"] = true, ["window.jsonl"] = true, ["run.json"] = true,
  lock = true } -- files of trainers in the folder of a run, in addition to checkpoints

-- Returns the step of the newest checkpoint in a folder, 0 if it is unknown; nil without a checkpoint.
local function find_step(dir)
  if not ledger.has_checkpoint(dir) then
    return nil
  end
  local last = (input.read_end(dir .. "/window.jsonl", TAIL_BYTES) or ""):match("([^\n]*)\n?$")
  return math.tointeger(tonumber(last:match('^{"step":(%d+),'))) or 0
end

local function list_visible(folder)
  return lists.filter(write.list_names(folder), function(name) return not name:find("^%.") end)
end

-- Returns the folders of a run in its attempts, each as { dir, step (of the newest checkpoint; nil without one) }.
-- Folders behind links are ignored.
local function list_attempts(out, run)
  local attempts = ("%s/%s/.attempts"):format(out, run.dir:match("^(.*)/"))
  return lists.collect(list_visible(attempts), function(name)
    local attempt_dir = attempts .. "/" .. name
    return lists.map({ attempt_dir .. "/" .. run.dir, attempt_dir .. "/replaced/" .. run.dir:match("[^/]*$") },
      function(dir)
      return lfs.attributes(dir, "mode") == "directory" and not inside.find_link(out, dir)
        and { dir = dir, step = find_step(dir) } or nil
    end)
  end)
end

-- Returns the attempt at a run with the most progress, nil without attempts.
function M.find_best(out, run)
  local best
  for _, attempt in ipairs(list_attempts(out, run)) do
    if not best or (attempt.step or -1) > (best.step or -1) then
      best = attempt
    end
  end
  return best
end

-- Returns "failed" if a run's attempt with the most progress ended in an error, else "stopped"; nil without attempts.
function M.read_state(out, run)
  local best = M.find_best(out, run)
  local facts = best and run_files.read_facts(best.dir, {})
  return best and (facts and run_files.has_failed(facts.exit) and "failed" or "stopped")
end

-- Finds the output of the last process that trained a run's group. lines: the end of a task's log. Returns the lines
-- before the task's message "not all of ... is done"; or, while the task still runs, the lines at the end of the log.
local function find_group_lines(lines, run)
  local id, name = run.dir:match("^([^/]+)/.*/([^/]+)$")
  local group_lines, has_message = {}, false
  for i = #lines, 1, -1 do
    local message = lines[i]:match("^[%dTZ:-]+ task %d+: (.*)$")
    if message and (has_message or #group_lines > 0 and message:sub(1, #id + 1) ~= id .. ":") then
      break
    elseif message and message:find(id .. ": not all of ", 1, true) == 1 and message:find(name, 1, true) then
      has_message, group_lines = true, {}
    elseif not message then
      table.insert(group_lines, 1, lines[i])
    end
  end
  return group_lines
end

-- Returns the last error of a run, in one line; nil if there is none. dir: the folder of the run in an attempt. The
-- path contains the index of the attempt's task; the logs of tasks with this index are searched, later arrays first.
function M.find_error(out, run, dir)
  local task = dir:match("/%.attempts/%d+_(%d[%d.]*)%-%d+/") -- TASK[.LANE]: each lane has its own log
  local all_records = task and records.list(out) or {}
  for i = #all_records, 1, -1 do
    local lines = failures.read_last_lines(("%s/logs/%s.txt"):format(all_records[i].folder, task))
    local error_text = failures.find_error(find_group_lines(lines, run), run)
    if error_text then
      return error_text
    end
  end
end

-- Moves the user's files from the folder `from`, a run in an attempt, to the run's own folder `to`. Files whose names
-- exist in `to` stay. task.sh selects the same files.
local function move_user_files(out, from, to)
  for _, name in ipairs(list_visible(from)) do
    if not TRAINER_FILES[name] and not name:find("^checkpoint") and not lfs.attributes(to .. "/" .. name, "mode") then
      inside.move(out, from .. "/" .. name, to .. "/" .. name)
    end
  end
end

-- Facts of a trainer that must equal a checkpoint's facts, so that it can continue from the checkpoint. A GPU's level
-- and compiler are absent, since they are known only during training.
local ORIGIN = { cpu = { "source_digest", "level", "compiler" }, cuda = { "source_digest" } }

-- Whether a trainer can continue from an attempt's newest readable checkpoint: the facts named in `keys` must be equal
-- in trainer and checkpoint, and the checkpoint's step must not be after the trainer's last step. trainer: the facts of
-- the trainer. Sets attempt.step to the checkpoint's step.
local function can_continue(attempt, trainer, keys)
  local checkpoint = safetensors.open(attempt.dir .. "/checkpoint.safetensors")
    or safetensors.open(attempt.dir .. "/checkpoint.previous.safetensors")
  local facts = checkpoint and checkpoint.metadata
  local step = facts and math.tointeger(tonumber(facts.step))
  attempt.step = step or attempt.step
  return step ~= nil and not lists.find(keys, function(key) return facts[key] ~= trainer[key] end)
    and step <= (math.tointeger(trainer.steps) or math.maxinteger)
end

-- Returns the attempt with the most progress that a trainer can continue, or nil; and the other such attempts.
local function choose_attempt(attempts, trainer, keys)
  local candidates = lists.filter(attempts, function(attempt) return can_continue(attempt, trainer, keys) end)
  table.sort(candidates, function(a, b) return a.step > b.step or a.step == b.step and a.dir < b.dir end)
  return table.remove(candidates, 1), candidates
end

-- Removes empty folders above `dir`, up to .attempts.
local function remove_empty_parents(out, dir)
  repeat
    dir = dir:match("^(.*)/")
  until not inside.remove_empty(out, dir) or dir:find("/%.attempts$")
end

-- Removes attempts at a run that has its own folder, after moving the user's files from the attempts to that folder.
local function remove_attempts(out, attempts, run_dir)
  for _, attempt in ipairs(attempts) do
    move_user_files(out, attempt.dir, run_dir)
    inside.remove(out, attempt.dir)
    remove_empty_parents(out, attempt.dir)
  end
end

-- Moves unfinished runs from attempts to their own folders, if a trainer can continue them and the folders do not
-- exist. info_command: the command with which the trainer of the runs prints its facts; device: the trainer's device.
-- Returns two counts: runs that were moved, and runs that were not moved although an attempt has a checkpoint; the
-- attempts at the latter runs are kept. Call this function only for a folder in which no task works.
function M.adopt(out, runs, info_command, device)
  local trainer, adopted_count, kept_count = nil, 0, 0
  for _, run in ipairs(runs) do
    local attempts, run_dir = run.state == "absent" and list_attempts(out, run) or {}, out .. "/" .. run.dir
    trainer = trainer or attempts[1] and (input.decode((shell.capture(info_command))) or {})
    local best, other_attempts = choose_attempt(attempts, trainer, ORIGIN[device:match("^%a+")])
    if best and inside.move(out, best.dir, run_dir) then
      adopted_count, run.state = adopted_count + 1, "stopped"
      remove_empty_parents(out, best.dir)
      remove_attempts(out, other_attempts, run_dir)
    else
      kept_count = kept_count + (attempts[1] and M.find_best(out, run).step and 1 or 0)
    end
  end
  return adopted_count, kept_count
end

-- Removes all attempts at the finished runs of a study.
function M.tidy(study, out)
  for _, cell in ipairs(study.cells) do
    for _, run in ipairs(cell.spec and cell.runs or {}) do
      remove_attempts(out, run.state == "done" and list_attempts(out, run) or {}, out .. "/" .. run.dir)
    end
  end
end

return M
