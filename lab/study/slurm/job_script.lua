-- The texts of a job array: the script for sbatch, and the list of its runs.
--
-- Input: a site (site.lua), tasks (packing.lua), names and folders. Output: text. The script is a header with the
-- values of the site and the study, followed by the unchanged task.sh; the list has a line for each group, in the form
-- that task.sh describes.

local grid = require("lab.study.grid.grid")
local lists = require("base.lists")
local shell = require("base.shell")
local escape = require("base.escape")
local wording = require("base.wording")

local M = { NEXT = "-next" } -- the job that follows an array has the array's name with this suffix

local SIGNAL_SECONDS = 120 -- from the signal to the end of a task; Slurm's controller checks times every 30 s

-- Returns the #SBATCH lines. job: see M.make_script; without task_count, the job is not an array and trains nothing.
local function list_options(site, job)
  local lines, is_array = {}, job.task_count ~= nil
  local function add(option, value)
    lines[#lines + 1] = value and ("#SBATCH --%s=%s"):format(option, value) or nil
  end
  add("job-name", job.name)
  add("array", is_array and "1-" .. job.task_count)
  add("partition", site.partition)
  add("account", site.account)
  add("qos", site.qos)
  add("nodes", 1)
  add("ntasks", 1)
  add("cpus-per-task", site.cpus)
  add("gres", is_array and site.gpus > 0 and "gpu:" .. site.gpus)
  add("mem", site.memory)
  add("time", job.time)
  add("signal", is_array and "B:TERM@" .. SIGNAL_SECONDS)
  lines[#lines + 1] = is_array and "#SBATCH --requeue" or nil
  add("open-mode", "append")
  add("output", job.folder .. (is_array and "/logs/%a.txt" or "/logs/next.txt"))
  add("chdir", job.directory)
  for _, option in ipairs(site.options or {}) do
    lines[#lines + 1] = "#SBATCH " .. option
  end
  return lines
end

-- Returns the lines that put temporary files and caches into the folder `scratch`, if it is not nil.
local function list_scratch_lines(scratch)
  return scratch and {
    ('export TMPDIR="%s"'):format(scratch),
    'mkdir -p "$TMPDIR" || exit 4',
    'export LONGHAND_CACHE="$TMPDIR/longhand" CUDA_CACHE_PATH="$TMPDIR/compute"',
    "",
  } or {}
end

-- Returns the interpreter line. A prologue needs a login shell, whose profile defines commands like `module`.
local function choose_interpreter(site)
  return site.prologue and "#!/bin/bash -l" or "#!/bin/sh"
end

local function list_prologue_lines(site)
  local trap = [[trap 'echo "$0: a line of the prologue failed with exit code $?: $BASH_COMMAND" >&2; exit 4' ERR]]
  return site.prologue and lists.append(lists.join({ trap }, site.prologue), { "trap - ERR", "" }) or {}
end

-- Returns the script of an array. body: the text of task.sh. job:
--   name          the name of the job in the queue
--   folder        the folder of the array
--   runs          the folder of all runs
--   trainers      the folder of trainers
--   directory     the folder in which sweep was called
--   time          the requested time of a task
--   study         the study in words
--   task_count    the number of tasks of the array
--   group_count, run_count   the numbers of groups and of runs, for the script's comment
function M.make_script(site, job, body)
  local processes = ("%d %s"):format(job.group_count, job.group_count == 1 and "process" or "processes")
  local summary = ("# %s: %s in %s of training, %s. State: ./longhand sweep status"):format(
    escape.plain(job.study), wording.count(job.run_count, "run"), processes, wording.count(job.task_count, "task"))
  local lines = lists.collect({ { choose_interpreter(site) }, list_options(site, job), { "#", summary, "" },
    list_prologue_lines(site), list_scratch_lines(site.scratch),
    { "folder=" .. job.folder, "runs=" .. job.runs, "trainers=" .. job.trainers } },
      function(section) return section end)
  return table.concat(lines, "\n") .. "\n" .. body
end

-- Returns the script of the job that follows an array and submits the cells that depend on the array's runs. words: the
-- command for this. job: { name, folder, directory, time } of the array.
function M.make_next_script(site, job, words)
  local next_job = { name = job.name .. M.NEXT, folder = job.folder, directory = job.directory, time = job.time }
  local lines = lists.append({ choose_interpreter(site) }, list_options(site, next_job))
  lines[#lines + 1] = "# Makes and submits the cells that depend on the array's runs."
  lists.append(lines, list_prologue_lines(site))
  return table.concat(lines, "\n") .. "\nexec " .. shell.join(words) .. "\n"
end

local function format_group(task, group, site, lanes)
  local cell = group.cell
  local names = lists.map(group.runs, function(run) return run.dir:match("[^/]*$") end)
  local words = { lanes > 1 and ("%d.%d"):format(task, group.lane) or task, group.is_replacement and "again" or "new",
    cell.id, cell.spec.plan.digest, group.defaults, group.item.copy, table.concat(names, " "), "--threads",
    math.max(1, site.cpus // lanes) }
  local device = site.gpus > 0 and "cuda" or "cpu"
  return shell.join(lists.append(lists.append(words, grid.make_flags(group, device)), group.flags))
end

-- Returns the text of runs.txt. lanes: the number of processes that a task runs side by side; they share the task's
-- processors. A group has, in addition to the fields of packing.lua:
--   defaults   the digest of the trainer's defaults
--   item       with item.copy, the trainer's name in the folder of trainers
--   flags      further flags of the trainer
function M.make_list(site, tasks, lanes)
  local lines = {}
  for task, groups in ipairs(tasks) do
    lists.append(lines, lists.map(groups, function(group) return format_group(task, group, site, lanes) end))
  end
  return table.concat(lines, "\n") .. "\n"
end

-- Parses runs.txt. Returns { [folder of a run] = index of the run's task }.
function M.parse_list(text)
  local tasks = {}
  for task, id, digest, name_text in text:gmatch("(%d+)%.?%d* %l+ (%S+) (%x+) %x+ %S+ ([^\n]*)\n") do
    local names = name_text:match("^'([^']*)'") or name_text:match("^%S+")
    for name in names:gmatch("%S+") do
      tasks[("%s/%s/%s"):format(id, digest, name)] = math.tointeger(tonumber(task))
    end
  end
  return tasks
end

return M
