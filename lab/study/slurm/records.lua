-- Records of submissions into a folder of runs: OUT/.slurm/<n>, a folder for each job array.
--
--     job.sh, runs.txt       the script, and the runs of each task (job_script.lua)
--     next.sh                submits later stages (submit.lua)
--     replaced/              an entry for each run that replaced a former run (task.sh)
--     record.json            the study's name, path, --scale and --set; the site file; the name of the job in the
--                            queue; the time of submission
--     logs/                  output of tasks and trainers
--     cancelled              exists once the job array was cancelled
--
-- The folder .slurm also has the folder trainers/, which all arrays share, and the folder submitting/ while a sweep
-- prepares an array (base/claim.lua). Since mkdir creates <n>, no two arrays get the same number. Only the queue knows
-- whether a job is still active; the job's name identifies it in the queue.

local claim = require("base.claim")
local input = require("base.input")
local inside = require("lab.study.run.inside")
local json = require("dkjson")
local lfs = require("lfs")
local lists = require("base.lists")
local paths = require("base.paths")
local script = require("lab.study.slurm.job_script")
local sha256 = require("base.sha256")
local shapes = require("lab.study.read.shapes")
local write = require("base.write")

local M = {}

local MAX_RECORD_BYTES, MAX_LIST_BYTES = 1 << 20, 64 << 20 -- bytes of record.json and of runs.txt
local TEXT = shapes.text(4096)
local SHAPE = shapes.object({ study = TEXT, path = TEXT, scale = TEXT, set = shapes.list(TEXT, 256), site = TEXT,
  name = TEXT }, { required = { "study", "path", "set", "site", "name" }, other_fields = shapes.any })
local ORDER = { "study", "path", "scale", "set", "site", "name", "submitted" }

function M.get_folder(out)
  return out .. "/.slurm"
end

-- Returns the name of the array with this number. The name contains a digest of the path `out`, so arrays of other
-- folders of runs have other names.
function M.make_job_name(out, study, number)
  return ("%s-%s"):format(study.name:gsub("[^%w_.-]", "_"), sha256.digest(("%s %d"):format(paths.resolve(out), number)))
end

-- Returns all records, by number: { number, folder, study, path, scale, set, site, name, is_cancelled }. A folder
-- without a record was never submitted; links are ignored, since they may lead to other users' files.
function M.list(out)
  local all_records, folder = {}, M.get_folder(out)
  for _, name in ipairs(write.list_names(folder)) do
    local dir = folder .. "/" .. name
    local text = name:find("^%d+$") and not inside.find_link(out, dir)
      and input.read(dir .. "/record.json", MAX_RECORD_BYTES)
    local record = text and input.decode(text)
    if type(record) == "table" and not shapes.find_problem(record, SHAPE) then
      record.number, record.folder = math.tointeger(tonumber(name)), dir
      record.is_cancelled = lfs.attributes(dir .. "/cancelled", "mode") ~= nil
      all_records[#all_records + 1] = record
    end
  end
  table.sort(all_records, function(a, b) return a.number < b.number end)
  return all_records
end

function M.filter_study(all_records, name)
  return lists.filter(all_records, function(record) return record.study == name end)
end

-- Whether a record names the job that was submitted for it from the folder `out` (M.make_job_name). A record that was
-- copied here from elsewhere may name any job.
function M.is_own(record, out)
  return record.name == M.make_job_name(out, { name = record.study }, record.number)
end

-- Returns the runs of tasks in the queue: { [folder of a run] = { record, task (queue.lua) } }. all_records: from
-- M.list; tasks: from queue.list_tasks. Sets record.tasks to the record's tasks in the queue, nil if there are none.
function M.find_queued_runs(all_records, tasks)
  local queued_runs = {}
  for _, record in ipairs(all_records) do
    local queued_tasks = lists.filter(tasks, function(task) return task.name == record.name end)
    local tasks_by_index = lists.index_by(queued_tasks, function(task) return task.task end)
    record.tasks = queued_tasks[1] and queued_tasks
    local text = queued_tasks[1] and input.read(record.folder .. "/runs.txt", MAX_LIST_BYTES) or ""
    for dir, index in pairs(script.parse_list(text)) do
      queued_runs[dir] = tasks_by_index[index] and { record = record, task = tasks_by_index[index] } or queued_runs[dir]
    end
  end
  return queued_runs
end

-- Makes the folder with the next number; returns its path and number, or nil and a message.
function M.make_folder(out)
  local all_records = M.list(out)
  local number = all_records[1] and all_records[#all_records].number or 0
  local is_made, message = inside.make_directory(out, M.get_folder(out) .. "/trainers")
  if not is_made then
    return nil, message
  end
  local dir, is_created, reason
  repeat
    number = number + 1
    dir = ("%s/%d"):format(M.get_folder(out), number)
    is_created, reason = lfs.mkdir(dir)
  until is_created or lfs.attributes(dir, "mode") ~= "directory"
  return is_created and dir, is_created and number or ("cannot make the directory %s: %s"):format(dir, reason)
end

function M.format_record(study, site, name)
  return json.encode({ study = study.name, path = paths.resolve(study.path), scale = study.scale, set = study.set,
    site = site.real, name = name, submitted = os.date("!%Y-%m-%dT%H:%M:%SZ") }, { indent = true,
    keyorder = ORDER }) .. "\n"
end

-- Claims the folder for submitting. Returns a function that gives the claim back; or nil and a message, for example if
-- another sweep holds the claim.
function M.claim(out)
  local path = M.get_folder(out) .. "/submitting"
  local is_made, message = inside.make_directory(out, M.get_folder(out))
  local own_claim, holder
  if is_made then
    own_claim, holder, message = claim.take(path)
  end
  if own_claim then
    return function() claim.give_back(own_claim) end
  end
  return nil, message or ("%s: another sweep is submitting jobs for this folder (%s)\n  expected: one at a time; "
    .. "remove the folder %s if that process is gone"):format(out, claim.describe_holder(holder), path)
end

return M
