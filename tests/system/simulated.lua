-- The verb `sweep` with --slurm and simulated trainers: nothing is compiled or trained; all other code is the real one.
--
--     lua5.4 tests/system/simulated.lua ACTION STUDY SITE OUT TRAINERS
--
-- ACTION: run, resubmit, status or cancel, with Slurm; sweep: the action run without Slurm. Writes a trainer for each
-- cell to TRAINERS: simulated_trainer.sh, preceded by the facts of the cell.

package.path = "generator/?.lua;?.lua;" .. package.path

local canonical = require("base.canonical")
local tasks = require("spec.task.tasks")
local escape = require("base.escape")
local write = require("base.write")

local action, study, site, out, folder = table.unpack(arg)
local DEFAULTS = ("0"):rep(16)

local function write_trainer(cell, body)
  local resolved, lines = cell.spec.resolved, { "#!/bin/sh" }
  for _, item in ipairs({ { "id", cell.id }, { "digest", cell.spec.plan.digest }, { "steps", resolved.train.steps },
    { "examples", resolved.eval.examples }, { "lengths", table.concat(tasks.list_lengths(resolved.eval.lengths), " ") },
    { "spec", canonical.format(resolved) } }) do
    lines[#lines + 1] = item[1] .. "=" .. escape.shell(tostring(item[2]))
  end
  return table.concat(lines, "\n") .. "\n" .. body
end

local function list(_, cells)
  local body, items, files = assert(write.read("tests/system/simulated_trainer.sh")), {}, {}
  for i, cell in ipairs(cells) do
    local dir = folder .. "/" .. cell.id
    assert(write.make_directory(dir))
    files[i] = dir .. "/trainer"
    local file = assert(io.open(files[i], "wb"))
    assert(file:write(write_trainer(cell, body)))
    assert(file:close())
    items[i] = { cell = cell, dir = dir, is_fresh = true, job = { defaults = { digest = DEFAULTS } } }
  end
  assert(os.execute(("find %s -name trainer -exec chmod +x {} +"):format(escape.shell(folder))))
  return items
end

local function copy(_, item, path)
  return os.execute(("cp %s %s"):format(escape.shell(item.dir .. "/trainer"), escape.shell(path)))
end

package.loaded["lab.study.run.trainers"] = { list = list, build_all = list, build = function() return "done" end,
  copy = copy }
package.loaded["lab.study.run.estimate"] = { make_timer = function() end } -- no duration is measured

local slurm = require("lab.study.slurm.slurm")
local options = { action = action, project = require("project").new("."), study = study,
  slurm = action == "run" and site or nil, out = out, set = {}, say = print }
local function run()
  if action ~= "sweep" then
    return slurm.run(options)
  end
  options.action, options.device, options.target = "run", "cpu", "cpu"
  slurm.prepare_local_sweep(options)
  return require("lab.study.run.sweep").run(options)
end

local succeeded, code = pcall(run)
if not succeeded and type(code) == "table" and code.code then -- main.lua ends such commands in the same way
  io.stderr:write(code.text, "\n")
  os.exit(code.code)
end
assert(succeeded, code)
os.exit(code)
