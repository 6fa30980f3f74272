-- Runs a study on a Slurm cluster: the actions run and dry_run (submit.lua), resubmit, status, watch and cancel.
--
-- Input: the options of the verb sweep. Output: an exit code. Run folders record finished work, squeue lists running
-- and waiting tasks; if they contradict each other, the folders are trusted.

local attempts = require("lab.study.slurm.attempts")
local canonical = require("base.canonical")
local lfs = require("lfs")
local lists = require("base.lists")
local overview = require("lab.study.run.overview")
local queue = require("lab.study.slurm.queue")
local records = require("lab.study.slurm.records")
local script = require("lab.study.slurm.job_script")
local submit = require("lab.study.slurm.submit")
local escape = require("base.escape")
local watch = require("lab.study.run.watch")
local wording = require("base.wording")
local write = require("base.write")

local M = {}

local DONE, INPUT, ENVIRONMENT = 0, 1, 4

local must, say = overview.must, overview.print

-- Whether runs of this folder were submitted to Slurm.
function M.is_used(options)
  return lfs.attributes(records.get_folder(options.out), "mode") == "directory"
end

-- Returns the records of the study, and the records of all studies that were submitted into this folder.
local function find_records(options)
  local all_records = records.list(options.out)
  local study_records = records.filter_study(all_records, (options.study:match("([^/]*)$"):gsub("%.lua$", "")))
  local names = lists.drop_repeats(lists.map(all_records, function(record) return record.study end))
  must(INPUT, study_records[1], ("%s: no run of %s was submitted into this folder\n  expected: %s"):format(
    escape.plain(options.out), escape.plain(options.study), names[1] and "one of the submitted studies: "
    .. escape.plain(table.concat(names, ", ")) .. "; or another --out"
    or ("./longhand sweep %s --slurm SITE first, or another --out"):format(options.study)))
  return study_records, all_records
end

-- Describes the tasks of an array in the queue: "job 7 (FOLDER): 2 tasks at work on NODE, 3 in the queue (REASON)".
local function format_record(record)
  local running_tasks = lists.filter(record.tasks, function(task) return task.is_running end)
  local waiting_tasks = lists.filter(record.tasks, function(task) return not task.is_running end)
  local function distinct_texts(tasks, key)
    local texts = lists.map(tasks, function(task) return task[key] ~= "" and task[key] or nil end)
    return table.concat(lists.drop_repeats(texts), ", ")
  end
  local line = ("job %s (%s)"):format(record.tasks[#record.tasks].job, record.folder)
  if running_tasks[1] then
    line = line .. (": %s at work on %s"):format(wording.count(#running_tasks, "task"),
      distinct_texts(running_tasks, "node"))
  end
  if waiting_tasks[1] then
    line = line .. ("%s %d in the queue (%s)"):format(running_tasks[1] and "," or ":", #waiting_tasks,
      distinct_texts(waiting_tasks, "reason"))
  end
  return line .. (record.is_cancelled and "; cancelled" or "")
end

-- Sets the states of runs in the queue or in attempts. queued_runs: from records.find_queued_runs.
local function set_states(study, out, queued_runs)
  for _, run in lists.iterate_nested(study.cells, "missing") do
    local queued_run = queued_runs[run.dir]
    if queued_run then
      run.state = queued_run.task.is_running and "running" or "queued"
    elseif run.state == "absent" then
      run.state = attempts.read_state(out, run) or run.state
    end
  end
end

-- Warns of runs in the queue that were submitted for this study but belong to none of its present cells.
local function warn_of_former_runs(study, queued_runs)
  local is_present = lists.to_set(lists.map(overview.list_runs(study), function(run) return run.dir end))
  local jobs, count = {}, 0
  for dir, queued_run in pairs(queued_runs) do
    if queued_run.record.study == study.name and not is_present[dir] then
      count, jobs[queued_run.task.job] = count + 1, true
    end
  end
  if count > 0 then
    say(("warning: %s of job %s in the queue: no cell of %s has such a run; the study was edited, or --scale or --set "
      .. "differs"):format(wording.count(count, "run"), table.concat(canonical.sort_keys(jobs), ", "),
      overview.name_study(study)))
    say("  runs in the queue continue in their own folders; ./longhand sweep cancel ends them")
  end
end

-- Reports runs that are neither done nor in the queue; without such runs, reports runs that wait for earlier stages.
-- counts: from overview.count_states; study_records: the records of the study.
local function report_unqueued(options, counts, study_records)
  local lost_count = counts.left - counts.running - counts.queued - counts.waiting
  if lost_count > 0 then
    say(("%s in no task of the queue: ./longhand sweep resubmit %s%s"):format(wording.count(lost_count, "run"),
      options.study, study_records[1] and ("; the tasks' output: %s/logs"):format(
        study_records[#study_records].folder) or ""))
  elseif counts.waiting > 0 then
    say(("%s of later stages: ./longhand sweep resubmit %s, once the runs of earlier stages are done"):format(
      wording.count(counts.waiting, "run"), options.study))
  end
end

-- Prints the states of all runs and the tasks in the queue. Returns an exit code.
local function status(options)
  local study = must(INPUT, overview.expand(options))
  local all_records = records.list(options.out)
  local tasks, message, is_absent = queue.list_tasks()
  local queued_runs = records.find_queued_runs(all_records, tasks or {})
  set_states(study, options.out, queued_runs)
  local is_undamaged = overview.print_status(options, study)
  for _, record in ipairs(all_records) do
    if record.tasks then
      io.stdout:write(format_record(record), "\n")
    end
  end
  if #study.cells == #study.ids then
    warn_of_former_runs(study, queued_runs)
  end
  if not tasks then
    say("the queue is not known: ", (message:gsub("\n$", "")))
  end
  report_unqueued(options, overview.count_states(study), records.filter_study(all_records, study.name))
  if not is_undamaged then
    return INPUT
  end
  return (tasks or is_absent) and DONE or ENVIRONMENT
end

-- Resubmits the study, by default to the same site. --scale and --set must equal those of the last submission.
local function resubmit(options)
  local study_records = find_records(options)
  local last = study_records[#study_records]
  local function format_settings(scale, set)
    local flags = lists.append({ scale and "--scale " .. scale or nil },
      lists.map(set, function(setting) return "--set " .. setting end))
    return flags[1] and escape.plain(table.concat(flags, " ")) or "neither --scale nor --set"
  end
  must(INPUT, last.scale == options.scale and canonical.format(last.set) == canonical.format(options.set),
    ("resubmit %s: found %s; expected %s, as in %s\n"
    .. "  hint: ./longhand sweep STUDY --slurm SITE submits another scale of the study"):format(options.study,
    format_settings(options.scale, options.set), format_settings(last.scale, last.set), last.folder))
  options.slurm = options.slurm or last.site
  return submit.run(options)
end

-- Returns the records whose jobs were submitted for this folder (records.is_own); and whether the queue has jobs of
-- other records. Prints messages about the jobs of other records.
local function drop_foreign(options, study_records)
  local own_records, has_foreign = {}, false
  for _, record in ipairs(study_records) do
    if records.is_own(record, options.out) then
      own_records[#own_records + 1] = record
    elseif record.tasks then
      has_foreign = true
      say(("%s/record.json: names the job %s, but the study %s has no such job in this folder; the job is not "
        .. "cancelled"):format(record.folder, escape.plain(record.name), record.study))
      say("  hint: scancel ", record.tasks[1].job, " cancels the job; or give the --out of the submission")
    end
  end
  return own_records, has_foreign
end

-- Cancels the tasks of a study, and the jobs that would submit its later stages. Returns an exit code.
local function cancel(options)
  local study_records, all_records = find_records(options)
  local tasks = must(ENVIRONMENT, queue.list_tasks())
  records.find_queued_runs(all_records, tasks)
  local jobs, count = {}, 0
  local own_records, has_foreign = drop_foreign(options, study_records)
  for _, record in ipairs(own_records) do
    if record.tasks then
      local is_written, message = write.file(record.folder .. "/cancelled", os.date("!%Y-%m-%dT%H:%M:%SZ\n"))
      if not is_written then
        say("longhand: ", message, "; the job is cancelled all the same")
      end
      -- There are several jobs if the user submitted the array's job.sh again by hand.
      lists.append(jobs, lists.drop_repeats(lists.map(record.tasks, function(task) return task.job end)))
      count = count + #record.tasks
    end
    lists.append(jobs, lists.map(tasks, function(task)
      return task.name == record.name .. script.NEXT and task.job or nil
    end))
  end
  if #jobs == 0 then
    io.stdout:write(("no task of %s is in the queue\n"):format(options.study))
    return has_foreign and INPUT or DONE
  end
  must(ENVIRONMENT, queue.cancel(jobs))
  io.stdout:write(("cancelled: job %s, %s; running trainings write checkpoints, and ./longhand sweep resubmit "
    .. "continues\n"):format(table.concat(jobs, ", "), wording.count(count, "task")))
  return DONE
end

local ACTIONS = { run = submit.run, dry_run = submit.run, resubmit = resubmit, status = status, cancel = cancel,
  watch = function(options)
    return watch.run(options, { find_attempt = attempts.find_best, find_error = attempts.find_error })
  end }

function M.run(options)
  return ACTIONS[options.action](options)
end

-- Returns hooks for a sweep on this machine, which continues unfinished runs of tasks:
--   take_on(cell, info_command)   called before the runs of a cell are trained (attempts.adopt)
--   tidy(study)                   called at the end of the sweep
local function make_hooks(options)
  return {
    take_on = function(cell, info_command)
      local adopted_count, kept_count = attempts.adopt(options.out, cell.missing, info_command, options.device)
      if adopted_count > 0 then
        say(("%s: continues runs that tasks of Slurm left: %s"):format(cell.id, wording.count(adopted_count, "run")))
      end
      if kept_count > 0 then
        say(("%s: tasks of Slurm left %s that this trainer cannot continue: their level, compiler or "
          .. "source differs, or their checkpoint is after the last step; the files stay, and the runs are trained "
          .. "anew"):format(cell.id, wording.count(kept_count, "run")))
      end
    end,
    tidy = function(study)
      attempts.tidy(study, options.out)
    end,
  }
end

-- Sets options.hooks for a sweep on this machine. Ends the command if tasks in the queue use the sweep's folder, or if
-- the queue is not known.
function M.prepare_local_sweep(options)
  local tasks, message, is_absent = queue.list_tasks()
  must(ENVIRONMENT, tasks or is_absent,
    ("%sit is not known whether tasks of Slurm work in the folder %s: nothing is started\n"):format(message,
    options.out))
  local all_records = records.list(options.out)
  must(ENVIRONMENT, not (is_absent and all_records[1]),
    ("--out %s: runs of this folder were submitted to Slurm, and there is no "
    .. "squeue here to say whether tasks are at work\n  expected: the machine from which the jobs were submitted; once "
    .. "no task is in a queue, remove %s"):format(options.out, records.get_folder(options.out)))
  records.find_queued_runs(all_records, tasks or {})
  local busy = lists.find(all_records, function(record) return record.tasks end)
  must(INPUT, not busy, busy and ("--out %s: tasks of Slurm work in this folder: %s\n  expected: none; "
    .. "./longhand sweep cancel %s ends the tasks, or choose another --out"):format(options.out,
    format_record(busy), busy.study))
  options.hooks = all_records[1] and make_hooks(options)
end

return M
