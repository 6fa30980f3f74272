-- Slurm's commands: what the cluster allows, who runs and who waits, submitting and cancelling.
--
-- Input and output: text and numbers; or nil and what the command said, under its name. Nothing but these commands
-- knows the state of a job, and what they say of a run counts for less than its files.

local shell = require("base.shell")

local M = {}

local RUNNING = { RUNNING = true, COMPLETING = true, CONFIGURING = true, STAGE_OUT = true, SIGNALING = true,
  SUSPENDED = true, STOPPED = true }

-- What a command prints; or nil, and what it said of why it did not work.
local function ask(...)
  local text, code = shell.capture({ "sh", "-c", 'exec "$@" 2>&1', "sh", ... })
  if code == 127 then
    return nil, ("%s: there is no such command here\n  expected: a machine from which jobs of Slurm are submitted\n")
      :format((...)), true
  elseif code ~= 0 then
    text = text:gsub("%s+$", ""):gsub("\n", "\n  ")
    return nil, ("%s said (exit code %d):\n  %s\n"):format((...), code, text)
  end
  return text
end

-- How many tasks an array may have; nil, a message, and whether there is no Slurm here at all.
function M.most_tasks()
  local text, message, absent = ask("scontrol", "show", "config")
  if not text then
    return nil, message, absent
  end
  local most = math.tointeger(tonumber(text:match("MaxArraySize%s*=%s*(%d+)")))
  return most and most - 1 or 1000
end

-- The lines of squeue: { name, job, task, state, node, reason, running }.
function M.parse(text)
  local tasks = {}
  for line in text:gmatch("[^\n]+") do
    local name, job, task, state, node, reason = line:match("^([^|]*)|(%d+)|([^|]*)|(%u[%u_]*)|([^|]*)|(.*)$")
    if name then
      tasks[#tasks + 1] = { name = name, job = job, task = math.tointeger(tonumber(task)) or 0, state = state,
        node = node, reason = reason, running = RUNNING[state] or false }
    end
  end
  return tasks
end

-- The user's tasks that run or wait; nil, a message, and whether there is no Slurm here at all.
function M.tasks()
  local user = shell.capture({ "id", "-un" }):gsub("%s+$", "")
  local text, message, absent = ask("squeue", "--noheader", "--array", "--user=" .. user,
    "--format=%j|%F|%K|%T|%N|%r")
  if not text then
    return nil, message, absent
  end
  return M.parse(text)
end

-- The number of the job that a script has become. after: of an array all of whose tasks must have ended well before;
-- where one has not, the job goes.
function M.submit(script, after)
  local words = { "sbatch", "--parsable", after and "--dependency=afterok:" .. after or script,
    after and "--kill-on-invalid-dep=yes", after and script }
  local text, message = ask(table.unpack(words))
  local job = text and text:match("(%d+)[;%s][^\n]*\n?$") or text and text:match("(%d+)%s*$")
  return job, message or text and ("sbatch said, and no number of a job:\n  %s\n"):format(text)
end

function M.cancel(jobs)
  return ask("scancel", table.unpack(jobs))
end

return M
