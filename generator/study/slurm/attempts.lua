-- What attempts at runs have left that is not through, as task.sh makes them:
-- OUT/<id>/<digest>/.attempts/<job>_<task>-<n>/<id>/<digest>/<run>.
--
-- Input: the folder of all runs, runs of cells. Output: which attempt got furthest, and how it ended; on request that
-- one in the run's own place, where a trainer without Slurm goes on with it. A run with a folder there is left alone.

local failures = require("study.run.failures")
local lfs = require("lfs")
local records = require("study.slurm.records")
local run_files = require("study.read.run_files")
local write = require("base.write")

local M = {}

local STOPPED = 75
local OWN = { ["metrics.jsonl"] = true, ["eval.jsonl"] = true, ["window.jsonl"] = true, ["run.json"] = true,
  lock = true } -- and checkpoints: what trainers write into the folder of a run

-- The step of the last checkpoint in a folder; nil where there is none.
local function step_of(dir)
  if not lfs.attributes(dir .. "/checkpoint.safetensors", "mode")
    and not lfs.attributes(dir .. "/checkpoint.previous.safetensors", "mode") then
    return nil
  end
  local last = (write.read(dir .. "/window.jsonl") or ""):match("([^\n]*)\n?$")
  return math.tointeger(tonumber(last:match('^{"step":(%d+),'))) or 0
end

local function names_in(path)
  local names = {}
  if lfs.attributes(path, "mode") == "directory" then
    for name in lfs.dir(path) do
      names[#names + 1] = not name:find("^%.") and name or nil
    end
  end
  table.sort(names)
  return names
end

-- What attempts have of a run: a list of { dir, step (nil before the first checkpoint) }.
local function all(out, run)
  local cell, list = out .. "/" .. run.dir:match("^(.*)/"), {}
  for _, name in ipairs(names_in(cell .. "/.attempts")) do
    local place = cell .. "/.attempts/" .. name
    for _, dir in ipairs({ place .. "/" .. run.dir, place .. "/replaced/" .. run.dir:match("[^/]*$") }) do
      list[#list + 1] = lfs.attributes(dir, "mode") == "directory" and { dir = dir, step = step_of(dir) } or nil
    end
  end
  return list
end

-- The one of them that got furthest; nil where there is none.
function M.best(out, run)
  local best
  for _, attempt in ipairs(all(out, run)) do
    best = (not best or (attempt.step or -1) > (best.step or -1)) and attempt or best
  end
  return best
end

-- The state of a run that has nothing but attempts: "failed" where the one that got furthest ended in an error, else
-- "stopped"; nil without any.
function M.state(out, run)
  local best = M.best(out, run)
  local facts = best and run_files.facts(best.dir, {})
  local failed = facts and facts.exit and facts.exit ~= 0 and facts.exit ~= STOPPED
  return best and (failed and "failed" or "stopped")
end

-- The lines that a group of runs has written, from the end of a task's log: those before the task's word that not all
-- of them is done, or, while it goes on, the last ones.
local function lines_of_group(lines, run)
  local id, name = run.dir:match("^([^/]+)/.*/([^/]+)$")
  local list, found = {}, false
  for i = #lines, 1, -1 do
    local words = lines[i]:match("^[%dTZ:-]+ task %d+: (.*)$")
    if words and (found or #list > 0 and words:sub(1, #id + 1) ~= id .. ":") then
      break
    elseif words and words:find(id .. ": not all of ", 1, true) == 1 and words:find(name, 1, true) then
      found, list = true, {}
    elseif not words then
      table.insert(list, 1, lines[i])
    end
  end
  return list
end

-- What the log of the task that an attempt is of says of its run, in one line; nil where it says nothing.
function M.words(out, run, dir)
  local task = dir:match("/%.attempts/%d+_(%d+)%-%d+/")
  local list = task and records.list(out) or {}
  for i = #list, 1, -1 do
    local lines = failures.last_lines(("%s/logs/%s.txt"):format(list[i].folder, task))
    local words = failures.of_run(lines_of_group(lines, run), run)
    if words then
      return words
    end
  end
end

-- Files beside a run that no trainer has written, as task.sh says: they go with it, where it has none of that name.
local function carry(from, to)
  for _, name in ipairs(names_in(from)) do
    if not OWN[name] and not name:find("^checkpoint") and not lfs.attributes(to .. "/" .. name, "mode") then
      os.rename(from .. "/" .. name, to .. "/" .. name)
    end
  end
end

-- Moves to their places what attempts have left of a study's runs that are not there, how many that were, and removes
-- what they have left of those that are. For a folder that no task works in.
function M.adopt(study, out)
  local count = 0
  for _, cell in ipairs(study.cells) do
    for _, run in ipairs(cell.spec and cell.runs or {}) do
      local best = run.state == "absent" and M.best(out, run)
      local adopted = best and best.step and os.rename(best.dir, out .. "/" .. run.dir)
      count = count + (adopted and 1 or 0)
      for _, attempt in ipairs((adopted or run.state == "done") and all(out, run) or {}) do
        carry(attempt.dir, out .. "/" .. run.dir)
        write.remove_tree(attempt.dir)
      end
    end
  end
  return count
end

return M
