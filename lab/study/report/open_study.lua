-- Opens a folder of runs as a study.
--
-- Input: { project, runs, study, scale, metric }, the options of the verbs; runs is a folder. Output of M.open: the
-- study with the results of its cells (cells.lua); the field `task` of a cell has the facts of its task
-- (project:settle_task), or is nil. Further fields of the study:
--   path       the path of its file, or the folder of runs
--   get_plan   a function from make_planner
--   problems   messages on damage outside the runs
--   set        the words of --set, or nil
--   remarks    texts, or nil
-- After an error: nil and a message, which begins with `prefix` unless it names a line of a file.

local earlier_results = require("lab.study.read.earlier_results")
local cells = require("lab.study.read.cells")
local grid = require("lab.study.grid.grid")
local lfs = require("lfs")
local lists = require("base.lists")
local run_files = require("lab.study.read.run_files")
local snapshots = require("lab.study.read.snapshots")
local escape = require("base.escape")
local trained_run = require("lab.study.read.trained_run")
local wording = require("base.wording")

local M = {}

local MAX_TEXTS = 3 -- maximum number of texts in a remark

local function get_base_name(path)
  return (path:match("([^/]*)$"):gsub("%.lua$", ""))
end

-- Returns the study that a sweep's snapshot records, for a study whose file cannot be read because of `message`.
-- Without a snapshot, returns nil, and also `message` if the user named the study. Appends messages to problems.
local function replace_study(options, name, scale, message, problems)
  local snapshot, problem = snapshots.read(options.runs, get_base_name(name), scale)
  local reason = ("the study %s cannot be read now: %s"):format(name, (message:match("error: ([^\n]*)")
    or message:match("[^\n]*")))
  problems[#problems + 1] = problem
  if snapshot then
    local study = earlier_results.restore(snapshot, get_base_name(name))
    study.remarks = { reason .. "; this report shows it as it was swept" }
    return study
  end
  problems[#problems + 1] = not options.study and reason or nil
  return nil, options.study and message
end

-- Returns the path of a swept study's file, from its record; if there is no such file, the study's name.
local function find_file(record)
  return lists.find({ record.absolute or record.path, record.path }, function(path)
    return lfs.attributes(path, "mode") == "file"
  end) or record.study
end

-- Returns the study to show: the study that the options name, or the only study that was swept here. Returns nil if
-- there is no study, nil and a message after an error. Appends messages on damaged records to problems.
local function expand(options, prefix, problems)
  local records, damaged = run_files.read_records(options.runs)
  lists.append(problems, damaged)
  local name = options.study or #records == 1 and find_file(records[1])
  if not name and #records > 1 then
    local names = lists.map(records, function(record) return record.study end)
    return nil, ("%s%s holds runs of several studies: %s\n  hint: --study NAME chooses one"):format(prefix,
      options.runs, table.concat(names, ", "))
  elseif not name then
    return nil
  end
  local record = lists.find(records, function(candidate) return candidate.study == get_base_name(name) end) or {}
  local scale = options.scale or record.scale
  local study, message = grid.expand(options.project, name, { scale = scale, set = record.set or {},
    out = options.runs, reading = true })
  if not study then
    return replace_study(options, name, scale, message, problems)
  end
  local problem
  study.snapshot, problem = snapshots.read(options.runs, study.name, study.scale)
  problems[#problems + 1] = problem
  return study
end

local function has_runs(study)
  return lists.find(study.cells, function(cell)
    return #cell.runs > (cell.summary.states.missing or 0) + (cell.summary.states.waiting or 0)
  end) ~= nil
end

-- Returns the study with the results of its cells; if no cell has runs, the study as it was swept.
local function read(options, expanded)
  local study = cells.read_study(expanded, options.runs, options.metric)
  if expanded.snapshot and not has_runs(study) then
    local restored_study = cells.read_study(earlier_results.restore(expanded.snapshot, expanded.name), options.runs,
      options.metric)
    if has_runs(restored_study) then
      restored_study.remarks = { "no run belongs to a cell of the study as it is now; this report shows the study as "
        .. "it was swept" }
      return restored_study
    end
  end
  study.remarks = expanded.remarks
  return study
end

-- Makes a function that returns the plan of a cell's best run: the plan of the cell's spec; if the cell has no spec or
-- the run is of an earlier version, the plan of the spec in run.json. The function returns nil if the plan is unknown.
local function make_planner(project)
  local plans = {}
  return function(cell)
    local run = cell.summary.best_run
    if cell.spec and (not cell.changes or run and run.digest == cell.spec.plan.digest) then
      return cell.spec.plan
    end
    if run and plans[run.digest] == nil then
      plans[run.digest] = trained_run.plan_spec(project, run.facts) or false
    end
    return run and plans[run.digest] or nil
  end
end

local function add_tasks(project, study)
  local facts = project:read_tasks() or {}
  for _, cell in ipairs(study.cells) do
    local task = lists.get(cell.task_spec, "task") or {}
    cell.task = cell.spec and cell.spec.plan.task or project:settle_task(facts[task.kind or ""], task.options)
  end
end

function M.open(options, prefix)
  if lfs.attributes(options.runs, "mode") ~= "directory" then
    return nil, ("%sthere is no folder %s\n  expected: a folder of runs"):format(prefix, options.runs)
  end
  local problems = {}
  local expanded, message = expand(options, prefix, problems)
  if message then
    return nil, message
  end
  local study = expanded and read(options, expanded) or cells.read_folder(options.runs, options.metric)
  if #study.cells == 0 then
    local root = run_files.find_root(options.runs)
    return nil, ("%s%s: there are no runs\n  expected: a folder that trainers wrote, with "
      .. "<id>/<digest>/<run>/run.json in it%s"):format(prefix, options.runs,
      root and "\n  hint: it lies within the folder of runs " .. root or "")
  end
  study.problems = lists.append(problems, study.problems or {})
  study.path = study.path or options.runs
  study.set = expanded and expanded.set
  add_tasks(options.project, study)
  study.get_plan = make_planner(options.project)
  return study
end

-- Joins the first MAX_TEXTS texts as sentences, and adds the count of the other texts.
local function join_first(texts)
  local shown_text = table.concat(texts, ". ", 1, math.min(#texts, MAX_TEXTS)) .. "."
  return #texts > MAX_TEXTS and ("%s And %d more."):format(shown_text, #texts - MAX_TEXTS) or shown_text
end

-- Returns study.remarks and sentences on cells that show runs of an earlier version, and on versions left out.
function M.list_remarks(study)
  local list, left_out = lists.join(study.remarks or {}, {}), study.left_out or {}
  local changed_cells = lists.map(study.cells, function(cell)
    return cell.changes and ("%s: %s"):format(cell.id, cell.changes) or nil
  end)
  if #changed_cells > 0 then
    list[#list + 1] = ("%s of %s %s runs of an earlier version, which a sweep would train anew: %s"):format(
      #changed_cells, wording.count(#study.cells, "cell"), #changed_cells == 1 and "shows" or "show",
      join_first(changed_cells))
  end
  list[#list + 1] = #left_out > 0 and "Left out: " .. join_first(left_out) or nil
  return list
end

-- Returns messages on all cells and runs: notes, failures, missing initial checkpoints (`lost_text` of a cell); and the
-- list of the messages on damage, one for each damaged run.
function M.list_problems(study)
  local list, damaged = lists.copy(study.problems), lists.copy(study.problems)
  for _, cell in ipairs(study.cells) do
    list[#list + 1] = cell.lost_text and ("%s: %s"):format(cell.id, cell.lost_text) or nil
    for _, run in ipairs(cell.runs) do
      for _, note in ipairs(run.notes) do
        list[#list + 1] = ("%s/%s"):format(run.dir, note)
      end
      damaged[#damaged + 1] = run.damaged and ("%s/%s"):format(run.dir, run.damaged) or nil
      if run.state == "failed" then
        list[#list + 1] = ("%s: failed, exit code %d"):format(run.dir, run.exit)
      end
    end
  end
  return list, damaged
end

-- Returns a text to append to another text: at most `max_count` of the texts (nil: all), each on a new, indented line.
function M.format(texts, max_count)
  return table.concat(lists.map(table.move(texts, 1, math.min(max_count or #texts, #texts), 1, {}), function(text)
    return "\n  " .. escape.plain(text)
  end))
end

return M
