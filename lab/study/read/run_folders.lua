-- Finds the folder of a run among the folders of its plan. The names of runs that were trained on a file contain the
-- file's digest, except in earlier versions: "lr0.001-seed0-data1a2b3c4d", "lr0.001-seed0".
--
-- Input: the folder of all runs; the folder of a plan below it ("<id>/<digest>"); the name of a run without its data
-- ("lr0.001-seed0"); and data, nil for a run without a file, else { path, digest (nil if the file does not exist),
-- counts (masked labels leave the loss) }. Output: the folder that the trainer uses, relative to the folder of all
-- runs; and a list of { dir, digest, masked }, or nil, of runs of that name that the trainer does not use. masked: the
-- run was trained on the same file, but also on labels with mask 0. Writes nothing.

local lists = require("base.lists")
local run_files = require("lab.study.read.run_files")
local shell = require("base.shell")
local write = require("base.write")

local M = {}

local MASKED = '"mask"[[:space:]]*:[[:space:]]*\\[[^]]*0' -- a line of examples whose mask holds a 0

local masked = {} -- by the file's digest: whether a line of it has masked labels

local function has_masks(data)
  if masked[data.digest] == nil then
    masked[data.digest] = shell.run({ "env", "LC_ALL=C", "grep", "-q", "-e", MASKED, "--", data.path }) == 0
  end
  return masked[data.digest]
end

-- Existing runs of a name: { name, facts }. seen: the names in folders that were listed earlier.
local function find(root, plan, name, seen)
  local folder, pattern = root .. "/" .. plan, "^%-data" .. ("[0-9a-f]"):rep(run_files.DATA_DIGITS) .. "$"
  seen[folder] = seen[folder] or write.list_names(folder)
  return lists.map(seen[folder], function(one)
    local dir = folder .. "/" .. one
    return (one == name or one:sub(1, #name) == name and one:find(pattern, #name + 1))
      and { name = one, facts = run_files.facts(dir, run_files.place(dir)) } or nil
  end)
end

local function digest_of(facts)
  return facts and facts.data and facts.data.train_sha256
end

local function newest(list)
  local last
  for _, one in ipairs(list) do
    if one.facts and (not last or (one.facts.started or "") > (last.facts.started or "")) then
      last = one
    end
  end
  return last
end

-- The name of a new run's folder.
function M.fresh_name(name, data)
  return data and data.digest and ("%s-data%s"):format(name, data.digest:sub(1, run_files.DATA_DIGITS)) or name
end

-- The name of the folder that the trainer uses. list: existing runs, sorted by name.
local function own_name(list, name, data)
  if not data.digest then
    local last = newest(list)
    return last and last.name or name
  end
  local own, found = M.fresh_name(name, data), nil
  for _, one in ipairs(list) do
    local is_older = one.name == name and digest_of(one.facts) == data.digest
    -- Runs of earlier versions, which did not record the labels of the loss, may have trained on labels that are now
    -- masked.
    local is_masked = is_older and data.counts and one.facts.loss == nil and has_masks(data)
    found = (one.name == own or is_older and not is_masked) and one.name or found
  end
  return found or own -- of two existing folders, the later in order is used: its name contains the data's digest
end

-- Finds the folder, as described above. seen: a cache of folders' contents for one pass over all runs.
function M.of_run(root, plan, name, data, seen)
  if not data then
    return plan .. "/" .. name
  end
  local list, others = find(root, plan, name, seen), {}
  local own = own_name(list, name, data)
  for _, one in ipairs(list) do
    local digest = digest_of(one.facts)
    others[#others + 1] = one.name ~= own and digest and { dir = plan .. "/" .. one.name, digest = digest,
      masked = one.name == name and digest == data.digest } or nil
  end
  return plan .. "/" .. own, others[1] and others or nil
end

return M
