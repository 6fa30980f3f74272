-- Submits a study as a job array: builds and copies the trainers, packs missing runs into tasks, calls sbatch.
--
-- Input: the options of the verb sweep with `slurm`, a site. Output: an exit code; on stdout a summary of the
-- submission, or the script with --dry-run; other messages on stderr. No process waits for the tasks: the same command,
-- called later, submits the runs that are still missing and in no task of the queue.

local build = require("render.builds.build")
local choice = require("lab.study.grid.chosen_cells")
local estimate = require("lab.study.run.estimate")
local waiting_cells = require("lab.study.run.waiting_cells")
local inside = require("lab.study.run.inside")
local lfs = require("lfs")
local file_digest = require("lab.study.read.file_digest")
local lists = require("base.lists")
local overview = require("lab.study.run.overview")
local packing = require("lab.study.slurm.packing")
local paths = require("base.paths")
local queue = require("lab.study.slurm.queue")
local records = require("lab.study.slurm.records")
local script = require("lab.study.slurm.job_script")
local set_aside = require("lab.study.run.set_aside")
local shell = require("base.shell")
local site_module = require("lab.study.slurm.site")
local escape = require("base.escape")
local trainer_flags = require("spec.trainer_flags")
local trainers = require("lab.study.run.trainers")
local wording = require("base.wording")
local stop = require("lab.stop")
local write = require("base.write")

local M = {}

local DONE, INPUT, ENVIRONMENT, AGAIN = 0, 1, 4, 75
local DEFAULT_MAX_TASKS = 1000 -- tasks of an array, if the cluster sets no limit
local FILLED_SHARE = 0.9 -- runs fill only this share of a task's time, since their times are estimates
-- For a site without `time`: runs fill a task until the estimate of its time is USUAL_SECONDS. The requested time is
-- SAFETY_FACTOR times the estimate for the longest task, plus START_SECONDS.
local USUAL_SECONDS, SAFETY_FACTOR, START_SECONDS = 3600, 2, 300
local NEXT_TIME = "1:00:00" -- time of the job that submits the next stage, for a site without `time`

local must, say = overview.must, overview.print

local function is_plain(path)
  return escape.make(path) ~= nil and not path:find("[\x80-\xFF]")
end

-- Returns copies of the cells that have runs to submit; the field `missing` of a copy lists only the runs to submit.
-- Also returns counts of missing runs:
--   to_submit   runs of the copies
--   queued      runs of tasks in the queue
--   running     runs of processes on this machine
-- Sets run.is_replacement: whether the new run replaces an existing folder; false for a damaged run, whose folder
-- set_aside.lua moves away. queued_runs: from records.find_queued_runs.
local function list_to_do(study, queued_runs)
  local cells, counts = {}, { to_submit = 0, queued = 0, running = 0 }
  for _, cell in ipairs(study.cells) do
    local missing_runs = lists.filter(cell.missing, function(run)
      local kind = queued_runs[run.dir] and "queued" or run.state == "running" and "running" or "to_submit"
      counts[kind] = counts[kind] + 1
      run.is_replacement = run.state ~= "damaged" and lfs.attributes(run.path, "mode") ~= nil
      return kind == "to_submit"
    end)
    cells[#cells + 1] = #missing_runs > 0 and setmetatable({ missing = missing_runs }, { __index = cell }) or nil
  end
  return cells, counts
end

-- Returns the options of estimate.lua for tasks of a site. max_concurrent is the maximum number of runs that a process
-- of a task trains at a time; the other numbers are for the measurement on this machine.
local function make_estimate_options(request, site)
  local local_threads, on_gpu = math.min(site.cpus, build.count_processors()), site.gpus > 0
  return { threads = local_threads, replicas = on_gpu and site.replicas or local_threads, device = request.device,
    max_concurrent = on_gpu and site.replicas or math.min(site.replicas, site.cpus),
    max_concurrent_here = on_gpu and site.replicas or local_threads }
end

-- Estimates the seconds of each group from measurements on this machine, if this machine can run the trainers.
local function estimate_groups(groups, items, request, site)
  if site.gpus > 0 and shell.run({ "sh", "-c", "nvidia-smi -L >/dev/null 2>&1" }) ~= 0 then
    return -- nothing can be measured on this machine
  end
  local timer = estimate.make_timer(items, make_estimate_options(request, site))
  for _, group in ipairs(groups) do
    group.seconds = timer and timer(group.cell, group.runs) or nil
  end
end

-- Adds to groups the fields that job_script.make_list needs.
local function complete_groups(groups, items)
  local items_by_id = lists.index_by(items, function(item) return item.cell.id end)
  for _, group in ipairs(groups) do
    group.item, group.flags = items_by_id[group.cell.id], trainer_flags.list_training(group.cell.spec.data_files)
    group.defaults = group.item.job.defaults.digest
    local invalid_flag = lists.find(group.flags, function(flag) return flag:find("\n", 1, true) end)
    must(INPUT, not invalid_flag, ("%s: found a line break in the name of a file; expected none"):format(
      escape.plain(invalid_flag or "")))
  end
end

-- Copies an item's trainer into a folder. The copy's name contains a digest of its bytes; a file of that name is
-- replaced. Sets item.copy to the name.
local function stage_trainer(project, item, folder)
  local partial = ("%s/%s.partial"):format(folder, item.cell.id)
  os.remove(partial)
  local is_done, message = trainers.copy(project, item, partial)
  if is_done then
    item.copy = ("%s-%s"):format(item.cell.id, assert(file_digest.compute(partial)):sub(1, 16))
    local output, code = shell.capture_all({ "sh", "-c", 'sync "$1" && mv -T -- "$1" "$2"', "sh", partial,
      folder .. "/" .. item.copy })
    is_done, message = code == 0, output
  end
  os.remove(partial)
  return is_done or nil, message
end

local function make_texts(options, study, site, plan)
  local out = paths.resolve(options.out)
  local job = { name = plan.name, task_count = #plan.tasks, folder = plan.folder, runs = out,
    trainers = records.get_folder(out) .. "/trainers", directory = lfs.currentdir(), study = overview.name_study(study),
    time = plan.time, group_count = #plan.groups, run_count = plan.run_count }
  local body = assert(write.read(options.project:path("lab/study/slurm/task.sh")))
  return { { path = "job.sh", text = script.make_script(site, job, body) },
    { path = "runs.txt", text = script.make_list(site, plan.tasks, plan.lanes) } }
end

-- Describes the time of a task: the requested one, and the estimate.
local function describe_time(plan, site)
  local task_time = plan.max_seconds
    and (", up to %s each, as measured here"):format(wording.format_duration(plan.max_seconds))
    or ", with the runs spread evenly, since no time could be measured here"
  if not site.time then
    return ("%s; requested time %s: %d times the estimate, plus %s"):format(task_time, plan.time, SAFETY_FACTOR,
      wording.format_duration(START_SECONDS))
  end
  return ("%s; requested time %s, as in the site file%s"):format(task_time, plan.time,
    plan.max_seconds and plan.max_seconds > site.seconds
      and ", less than the longest task takes; that task is requeued" or "")
end

local function describe_plan(plan, site, max_tasks)
  return ("%s, %s at a time in a task: %s (at most %d)%s"):format(wording.count(plan.run_count, "run"),
    site.replicas >= site_module.ALL_REPLICAS and "all runs of a cell" or tostring(plan.max_concurrent),
    wording.count(#plan.tasks, "task"), max_tasks, describe_time(plan, site))
end

-- Chooses the requested time of a task, rounded up to minutes; ends the command if it cannot be estimated.
local function choose_time(plan, site)
  must(INPUT, site.time or plan.max_seconds, ("%s: time: is missing, and no speed could be measured on this machine\n"
    .. "  expected: the time limit of a task, such as time = \"04:00:00\""):format(site.shown))
  return site.time or site_module.format_time(math.ceil((SAFETY_FACTOR * plan.max_seconds + START_SECONDS)
    / 60) * 60)
end

-- Returns the plan of a submission. max_tasks: the maximum number of tasks. Callers add name and folder of the array.
--   groups, tasks, lanes   from packing.lua
--   max_concurrent         the maximum number of runs of a task that train at a time
--   max_seconds            the seconds of the longest task, or nil
--   time                   the requested time of a task
--   items                  from trainers.lua
--   run_count              the number of runs
local function make_plan(options, site, cells, max_tasks)
  local request = { target = site.gpus > 0 and "cpu,cuda" or "cpu",
    levels = table.concat(site.levels or { "all" }, " "), device = site.gpus > 0 and "cuda" or "cpu",
    arch = site.architectures and table.concat(site.architectures, ","), cuda_root = options.cuda_root }
  local items
  if options.action == "dry_run" then
    items = trainers.list(options.project, cells, request)
    if not estimate.has_records(items, make_estimate_options(request, site)) then
      trainers.ensure_one(options.project, estimate.filter_with_steps(items))
    end
  else
    items = trainers.build_all(options.project, cells, request, "nothing was submitted")
  end
  local plan, lanes = { items = items }
  if site.gpus > 0 then -- one process trains all its runs on the GPU, step by step
    plan.groups, lanes = packing.make_groups(cells, site.replicas), 1
  else
    plan.groups, lanes = packing.choose_groups(cells, site.replicas, site.cpus)
  end
  plan.run_count = lists.sum(plan.groups, function(group) return #group.runs end)
  estimate_groups(plan.groups, items, request, site)
  plan.tasks, plan.max_seconds, plan.lanes = packing.make_tasks(plan.groups,
    { min_tasks = site.min_tasks, lanes = lanes,
    max_tasks = math.min(max_tasks, site.max_tasks), seconds = site.time and FILLED_SHARE * site.seconds
      or USUAL_SECONDS })
  plan.max_concurrent = plan.lanes * lists.max(plan.groups, function(group) return #group.runs end)
  plan.time = choose_time(plan, site)
  complete_groups(plan.groups, items)
  return plan
end

-- Prints the numbers and states of runs; returns whether there are runs to submit. missing_counts: the counts of
-- list_to_do.
local function announce(options, study, missing_counts)
  local counts = overview.count_states(study)
  local other_counts = { { missing_counts.queued, "with tasks in the queue" },
    { missing_counts.running, "with processes here" },
    { counts.waiting, "waiting for runs of an earlier stage" } }
  local line = ("%s: %s, %s: %d done, %d to submit"):format(overview.name_study(study),
    overview.format_cell_count(study), wording.count(counts.runs, "run"), counts.done, missing_counts.to_submit)
  say(line, overview.join_counts(other_counts), " in ", options.out)
  overview.print_states(study)
  if counts.waiting > 0 and missing_counts.to_submit == 0 then
    say("the same command submits the waiting runs, once the runs of earlier stages are done")
  end
  return missing_counts.to_submit > 0
end

-- Prints the script and the first line of runs.txt, without submitting anything.
local function print_script(options, study, site, plan, max_tasks)
  plan.folder = records.get_folder(paths.resolve(options.out)) .. "/N"
  plan.name = records.make_job_name(options.out, study, 0)
  for _, item in ipairs(plan.items) do
    item.copy = item.cell.id .. "-DIGEST"
  end
  local files = make_texts(options, study, site, plan)
  io.stdout:write(files[1].text)
  say(describe_plan(plan, site, max_tasks))
  say("nothing was submitted; runs.txt would begin with")
  say("  ", (files[2].text:match("^[^\n]*")))
  return DONE
end

-- Submits a job that starts after the array and then submits the cells that wait for the array's runs. array_job: the
-- job number of the array.
local function submit_next(options, study, site, plan, array_job)
  local words = { paths.resolve(options.project:path("longhand")), "sweep", "resubmit", "--out",
    paths.resolve(options.out) }
  lists.append(words, choice.make_words(options.choice, paths.resolve(study.path)))
  lists.append(words, study.scale and { "--scale", study.scale } or {})
  lists.append(words, lists.collect(study.set, function(set) return { "--set", set } end))
  local path, number = plan.folder .. "/next.sh", nil
  local is_written, message = write.file(path, script.make_next_script(site, { name = plan.name, folder = plan.folder,
    directory = lfs.currentdir(), time = site.time or NEXT_TIME }, words))
  if is_written then
    number, message = queue.submit(path, array_job)
  end
  if number then
    io.stdout:write(("job %s: submits the waiting runs of later stages, once job %s is done (script: %s)\n"):format(
      number, array_job, path))
  else
    say("warning: no job submits later stages: ", (message:gsub("\n$", "")))
    say("  hint: call the same command again, once the runs of earlier stages are done")
  end
end

-- Finds the job of this name if Slurm accepted it although sbatch failed, for example because the reply was late.
local function find_accepted_job(name)
  local task = lists.find(queue.list_tasks() or {}, function(task) return task.name == name end)
  if task then
    say(("warning: sbatch failed, but job %s of that name is in the queue"):format(task.job))
    return task.job
  end
end

-- Reverses the preparations of an array that was not submitted.
local function undo_preparations(options, plan, folder)
  for _, group in ipairs(plan.groups) do
    set_aside.put_back(options.out, group.runs, "nothing was submitted")
  end
  inside.remove(options.out, folder)
  lfs.mkdir(folder) -- no other array gets this number, since Slurm may still accept this array
end

-- Writes the folder of the array and submits its script; reverses all preparations if that fails. Returns an exit code.
local function submit(options, study, site, plan, max_tasks)
  local folder, number = must(ENVIRONMENT, records.make_folder(options.out))
  plan.folder, plan.name = paths.resolve(folder), records.make_job_name(options.out, study, number)
  local job
  local code, message = stop.catch(function()
    for _, item in ipairs(plan.items) do
      stop.must(ENVIRONMENT, stage_trainer(options.project, item, records.get_folder(options.out) .. "/trainers"))
    end
    local files = make_texts(options, study, site, plan)
    files[#files + 1] = { path = "record.json", text = records.format_record(study, site, plan.name) }
    stop.must(ENVIRONMENT, write.files(folder, files))
    stop.must(ENVIRONMENT, write.make_directory(folder .. "/logs"))
    for _, group in ipairs(plan.groups) do
      stop.must(ENVIRONMENT, set_aside.move_damaged(options.out, group.cell, group.runs))
    end
    job = stop.must(INPUT, queue.submit(plan.folder .. "/job.sh"))
  end)
  -- The code is INPUT only if sbatch failed.
  job = job or code == INPUT and find_accepted_job(plan.name)
  if not job then
    undo_preparations(options, plan, folder)
    say("nothing was submitted: ", (message:gsub("\n$", "")))
    return code
  end
  say(describe_plan(plan, site, max_tasks))
  io.stdout:write(("job %s: %s, %s; %s/job.sh\n"):format(job, wording.count(#plan.tasks, "task"),
    wording.count(plan.run_count, "run"), folder))
  if overview.count_states(study).waiting > 0 then
    submit_next(options, study, site, plan, job)
  end
  say(("to follow the job: ./longhand sweep status %s%s"):format(options.study, options.out ~= "runs"
    and " --out " .. options.out or ""))
  return DONE
end

-- Returns the runs of tasks in the queue, and the largest size of a job array. A dry run needs no Slurm.
local function ask_queue(options)
  local max_tasks, message = queue.find_max_array_size()
  local tasks
  if max_tasks then
    tasks, message = queue.list_tasks()
  end
  must(ENVIRONMENT, tasks or options.action == "dry_run", message)
  if not tasks then
    io.stderr:write(message)
    say(("  the script is for at most %d tasks, Slurm's default limit"):format(DEFAULT_MAX_TASKS))
  end
  return records.find_queued_runs(records.list(options.out), tasks or {}), max_tasks or DEFAULT_MAX_TASKS
end

-- Plans the submission of a study; then submits it, or prints the script in a dry run. Returns an exit code.
local function submit_study(options, site)
  -- waiting_cells.expand makes the specs of later stages, by commands that read the runs of earlier stages; worst_code
  -- is the worst exit code of these commands.
  local study, worst_code = must(INPUT, (options.action == "dry_run" and overview or waiting_cells).expand(options))
  if worst_code == AGAIN then
    return worst_code
  end
  local queued_runs, max_tasks = ask_queue(options)
  must(ENVIRONMENT, max_tasks >= 1, ("scontrol show config: found MaxArraySize %d; expected 2 or more, for job arrays")
    :format(max_tasks + 1))
  local cells, missing_counts = list_to_do(study, queued_runs)
  if not announce(options, study, missing_counts) then
    return worst_code or DONE
  end
  local plan = make_plan(options, site, cells, max_tasks)
  if options.action == "dry_run" then
    return print_script(options, study, site, plan, max_tasks)
  end
  must(ENVIRONMENT, overview.write_note(options, study))
  return waiting_cells.choose_worse(worst_code, submit(options, study, site, plan, max_tasks))
end

function M.run(options)
  local site = must(INPUT, site_module.read(options.project, options.slurm))
  for _, path in ipairs({ paths.resolve(options.out), lfs.currentdir() }) do
    must(INPUT, is_plain(path), ("%s: a script for Slurm cannot contain the name of this folder\n"
      .. "  expected: %s"):format(escape.plain(path), escape.MAKE_TEXT))
  end
  if options.action == "dry_run" then
    return submit_study(options, site)
  end
  local release = must(ENVIRONMENT, records.claim(options.out))
  local is_ok, code = pcall(submit_study, options, site)
  release()
  if not is_ok then
    error(code, 0)
  end
  return code
end

return M
