-- Slurm's commands: limits of the cluster, running and waiting tasks, submitting and cancelling.
--
-- Output: text and numbers; or nil and a message with the command's name and its output. Only these commands know the
-- state of a job; where a run's files contradict their output, the files are trusted.

local lists = require("base.lists")
local shell = require("base.shell")

local M = {}

local RUNNING = { RUNNING = true, COMPLETING = true, CONFIGURING = true, STAGE_OUT = true, SIGNALING = true,
  SUSPENDED = true, STOPPED = true }

-- Returns a message on a failed command, and whether the command does not exist.
local function describe_failure(command, code, text)
  if code == 127 then
    return ("%s: there is no such command here\n  expected: a machine from which jobs of Slurm are submitted\n")
      :format(command), true
  end
  return ("%s failed (exit code %d):\n  %s\n"):format(command, code, text:gsub("%s+$", ""):gsub("\n", "\n  "))
end

local function ask(...)
  local text, code = shell.capture_all({ ... })
  if code ~= 0 then
    return nil, describe_failure((...), code, text)
  end
  return text
end

-- Returns the largest allowed number of tasks of an array; or nil, a message, and whether Slurm is missing here.
function M.find_max_array_size()
  local text, message, is_absent = ask("scontrol", "show", "config")
  local max_size = math.tointeger(tonumber((text or ""):match("MaxArraySize%s*=%s*(%d+)")))
  return text and (max_size or 1001) - 1, message, is_absent -- 1001: Slurm's default
end

-- Parses the output of squeue into a list of tasks:
--   name         the name of the job
--   job          the number of the job, as text
--   task         the index of the task in the array; 0 for a job that is not an array
--   state        a word of squeue
--   node         the name of the node, "" for a waiting task
--   reason       why the task waits
--   is_running   whether the task has begun
function M.parse(text)
  local tasks = {}
  for line in text:gmatch("[^\n]+") do
    local name, job, task, state, node, reason = line:match("^([^|]*)|(%d+)|([^|]*)|(%u[%u_]*)|([^|]*)|(.*)$")
    if name then
      tasks[#tasks + 1] = { name = name, job = job, task = math.tointeger(tonumber(task)) or 0, state = state,
        node = node, reason = reason, is_running = RUNNING[state] or false }
    end
  end
  return tasks
end

-- Returns the user's running and waiting tasks; or nil, a message, and whether Slurm is missing here.
function M.list_tasks()
  local user = shell.capture({ "id", "-un" }):gsub("%s+$", "")
  local text, message, is_absent = ask("squeue", "--noheader", "--array", "--user=" .. user,
    "--format=%j|%F|%K|%T|%N|%r")
  return text and M.parse(text), message, is_absent
end

-- Environment variables that override fields of the script; and SBATCH_WAIT, with which sbatch waits for all tasks.
local OVERRIDING_VARIABLES = { "SBATCH_ACCOUNT", "SBATCH_ARRAY_INX", "SBATCH_CPUS_PER_TASK", "SBATCH_GRES",
  "SBATCH_JOB_NAME", "SBATCH_MEM_PER_CPU", "SBATCH_MEM_PER_GPU", "SBATCH_MEM_PER_NODE", "SBATCH_NO_REQUEUE",
  "SBATCH_OPEN_MODE", "SBATCH_OUTPUT", "SBATCH_PARTITION", "SBATCH_QOS", "SBATCH_REQUEUE", "SBATCH_SIGNAL",
  "SBATCH_TIMELIMIT",
  "SBATCH_WAIT" }

-- Returns the output and the error output of sbatch, separately; or nil and a message with both.
local function run_sbatch(words)
  local script = [[exec 3>&1; said=$("$@" 2>&1 >&3); code=$?; exec 3>&-; printf '\n\f%s' "$said"; exit "$code"]]
  local text, code = shell.capture({ "sh", "-c", script, "sh", table.unpack(words) })
  local out, error_text = text:match("^(.*)\n\f(.*)$")
  if code == 0 and out then
    return out, error_text
  end
  return nil, (describe_failure("sbatch", code, (out or text) .. (error_text or "")))
end

-- Submits a script. Returns the number of its job as text, or nil and a message. array_job: nil, or the job number of
-- an array. The new job starts after this array; if a task of the array fails, Slurm removes the new job.
function M.submit(script, array_job)
  local words = lists.join({ "env" }, lists.collect(OVERRIDING_VARIABLES, function(name) return { "-u", name } end))
  lists.append(words, { "sbatch", "--parsable" })
  lists.append(words, array_job and { "--dependency=afterok:" .. array_job, "--kill-on-invalid-dep=yes" } or {})
  words[#words + 1] = script
  local out, message = run_sbatch(words)
  if not out then
    return nil, message
  end
  local job = ("\n" .. out .. "\n"):match("\n(%d+)[;\n]")
  return job, not job and ("sbatch printed no number of a job:\n  %s\n"):format(out .. message) or nil
end

function M.cancel(jobs)
  return ask("scancel", table.unpack(jobs))
end

return M
