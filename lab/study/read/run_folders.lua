-- Finds the folder of a run among the folders of its plan. The name of a run that is trained on a file ends with the
-- first digits of the file's SHA-256: "lr0.001-seed0-data1a2b3c4d".
--
-- Input:
--   root   the folder of all runs
--   plan   the folder of a plan, relative to root: "<id>/<digest>"
--   name   the run's name without digits of a file: "lr0.001-seed0" (seeds.format)
--   data   { digest } of the training file; {} if the file does not exist; nil for a run without a file
-- Output:
--   the folder that the trainer uses, relative to root. If the training file does not exist: the folder of the newest
--     run with this name and digits of any file, or else <plan>/<name>
--   the runs with this name that were trained on other files: a list of { dir, digest }; nil if there are none
-- Writes nothing.

local lists = require("base.lists")
local run_files = require("lab.study.read.run_files")
local write = require("base.write")

local M = {}

-- Returns the existing runs with this name and digits of any file, as { name, facts }. names_by_folder: a cache of the
-- names of entries.
local function find_runs(root, plan, name, names_by_folder)
  local folder, pattern = root .. "/" .. plan, "^%-data" .. ("[0-9a-f]"):rep(run_files.DATA_DIGITS) .. "$"
  names_by_folder[folder] = names_by_folder[folder] or write.list_names(folder)
  return lists.map(names_by_folder[folder], function(entry)
    local dir = folder .. "/" .. entry
    return entry:sub(1, #name) == name and entry:find(pattern, #name + 1)
      and { name = entry, facts = run_files.read_facts(dir, run_files.split_path(dir)) } or nil
  end)
end

-- Returns the name of the run that started last; nil without a readable run.
local function find_newest_name(runs)
  local newest
  for _, run in ipairs(runs) do
    if run.facts and (not newest or (run.facts.started or "") > (newest.facts.started or "")) then
      newest = run
    end
  end
  return newest and newest.name
end

-- Finds the folder, as the head of this file describes. names_by_folder: a cache for one study, {} at first.
function M.find(root, plan, name, data, names_by_folder)
  if not data then
    return plan .. "/" .. name
  end
  local runs = find_runs(root, plan, name, names_by_folder)
  local folder_name = data.digest and ("%s-data%s"):format(name, data.digest:sub(1, run_files.DATA_DIGITS))
    or find_newest_name(runs) or name
  local other_runs = lists.map(runs, function(run)
    local digest = lists.get(run, "facts.data.train_sha256")
    return run.name ~= folder_name and digest and { dir = plan .. "/" .. run.name, digest = digest } or nil
  end)
  return plan .. "/" .. folder_name, other_runs[1] and other_runs or nil
end

return M
