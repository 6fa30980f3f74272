-- What attempts at runs have left that is not through: OUT/<id>/<digest>/.attempts/<job>-<n>/<id>/<digest>/<run>, as
-- task.sh makes them.
--
-- Input: the folder of all runs, runs of cells. Output: which attempt got furthest, and how it ended; on request that
-- one in the run's own place, where a trainer without Slurm goes on with it. A run with a folder there is left alone.

local lfs = require("lfs")
local run_files = require("study.read.run_files")
local write = require("base.write")

local M = {}

local STOPPED = 75

-- The step of the last checkpoint in a folder; nil where there is none.
local function step_of(dir)
  if not lfs.attributes(dir .. "/checkpoint.safetensors", "mode")
    and not lfs.attributes(dir .. "/checkpoint.previous.safetensors", "mode") then
    return nil
  end
  local last = (write.read(dir .. "/window.jsonl") or ""):match("([^\n]*)\n?$")
  return math.tointeger(tonumber(last:match('^{"step":(%d+),'))) or 0
end

local function folders_in(path)
  local names = {}
  if lfs.attributes(path, "mode") == "directory" then
    for name in lfs.dir(path) do
      names[#names + 1] = not name:find("^%.") and name or nil
    end
  end
  table.sort(names)
  return names
end

-- The attempt at a run that got furthest: { dir, step (nil before the first checkpoint) }; nil where there is none.
function M.best(out, run)
  local cell = out .. "/" .. run.dir:match("^(.*)/")
  local best
  for _, name in ipairs(folders_in(cell .. "/.attempts")) do
    local place = cell .. "/.attempts/" .. name
    for _, dir in ipairs({ place .. "/" .. run.dir, place .. "/replaced/" .. run.dir:match("[^/]*$") }) do
      if lfs.attributes(dir, "mode") == "directory" then
        local step = step_of(dir)
        best = (not best or (step or -1) > (best.step or -1)) and { dir = dir, step = step } or best
      end
    end
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

-- Moves to their places what attempts have left of a study's runs that are not there; how many that were.
function M.adopt(study, out)
  local count = 0
  for _, cell in ipairs(study.cells) do
    for _, run in ipairs(cell.missing) do
      local best = run.state == "absent" and M.best(out, run)
      if best and best.step and os.rename(best.dir, out .. "/" .. run.dir) then
        count = count + 1
      end
    end
  end
  return count
end

return M
