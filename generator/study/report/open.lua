-- A folder of runs as the study whose runs they are.
--
-- Input: { project, runs, study, scale, metric } as the verbs have them, runs a folder. Output: the study with its
-- cells read (cells.lua), and path, set, plan_of, problems: what is damaged besides runs; or nil and a message, which
-- begins with `front` where it is not about a line of a file.

local cells = require("study.read.cells")
local grid = require("study.grid.grid")
local lfs = require("lfs")
local run_files = require("study.read.run_files")
local trained = require("study.read.trained")

local M = {}

local function record_of(records, name)
  for _, record in ipairs(records) do
    if record.study == name:match("([^/]*)$"):gsub("%.lua$", "") then
      return record
    end
  end
end

-- The study to show: given, or the only one that was swept here; nil where there is none. Or nil and a message. What is
-- damaged of the records comes third.
local function expand(options, front)
  local found, problems = run_files.records(options.runs)
  local name = options.study or #found == 1 and (lfs.attributes(found[1].path or "", "mode") and found[1].path
    or found[1].study)
  if not name and #found > 1 then
    local names = {}
    for i, record in ipairs(found) do
      names[i] = record.study
    end
    return nil, ("%s%s holds runs of several studies: %s\n  hint: --study says which"):format(front, options.runs,
      table.concat(names, ", "))
  elseif not name then
    return nil, nil, problems
  end
  local record = record_of(found, name) or {}
  local study, message = grid.expand(options.project, name, { scale = options.scale or record.scale,
    set = record.set or {}, out = options.runs, reading = true })
  return study, message, problems
end

-- A function that gives the plan of a cell, of runs that were found that of their own spec; nil where nobody knows.
local function planner(project)
  local known = {}
  return function(cell)
    if cell.spec then
      return cell.spec.plan
    end
    local run = cell.summary.top
    if run and known[run.digest] == nil then
      known[run.digest] = trained.plan(project, run.facts) or false
    end
    return run and known[run.digest] or nil
  end
end

-- Chance and baseline of each cell's task.
local function add_tasks(project, study)
  local facts = project:tasks() or {}
  for _, cell in ipairs(study.cells) do
    cell.task = cell.spec and cell.spec.plan.task or project:task_with(facts[cell.task_kind or ""], cell.task_options)
  end
end

function M.study(options, front)
  if lfs.attributes(options.runs, "mode") ~= "directory" then
    return nil, ("%sthere is no folder %s\n  expected: a folder of runs"):format(front, options.runs)
  end
  local expanded, message, problems = expand(options, front)
  if message then
    return nil, message
  end
  local study = expanded and cells.of_study(expanded, options.runs, options.metric)
    or cells.of_folder(options.runs, options.metric)
  if #study.cells == 0 then
    local around = run_files.around(options.runs)
    return nil, ("%s%s: there are no runs\n  expected: a folder that trainers wrote, with "
      .. "<id>/<digest>/<run>/run.json in it%s"):format(front, options.runs,
      around and "\n  hint: it lies within one: " .. around or "")
  end
  study.problems = table.move(study.problems or {}, 1, #(study.problems or {}), #problems + 1, problems)
  study.path = study.path or options.runs
  study.set = expanded and expanded.set
  add_tasks(options.project, study)
  study.plan_of = planner(options.project)
  return study
end

-- Notes of all runs, and what became of those that have no score; of these, what is damaged.
function M.problems(study)
  local list = table.move(study.problems, 1, #study.problems, 1, {})
  local damaged = table.move(study.problems, 1, #study.problems, 1, {})
  for _, cell in ipairs(study.cells) do
    list[#list + 1] = cell.lost and ("%s: %s"):format(cell.id, cell.lost) or nil
    for _, run in ipairs(cell.runs) do
      for _, note in ipairs(run.notes) do
        list[#list + 1] = ("%s/%s"):format(run.dir, note)
      end
      damaged[#damaged + 1] = run.damaged and list[#list] or nil
      if run.state == "failed" then
        list[#list + 1] = ("%s: failed, exit code %d"):format(run.dir, run.exit)
      end
    end
  end
  return list, damaged
end

return M
