-- The verbs of the lab. Each loads its modules when it is called, so that no verb pays for another.
--
-- Input: the arguments of a verb with functions of main.lua: project, whose find(SPEC, sets) also knows cells of
-- studies; say(line); open(), the planned spec of the verb with the choices for this machine, or nil and an exit code
-- after a message; provide(SPEC, sets), which returns the folder of a trainer, or nil; an exit code after an error; and
-- the flags that name the trainer's files. Output: an exit code, and a message or nil.

local lists = require("base.lists")
local stop = require("lab.stop")

local M = {}

function M.plan(arguments)
  return require("lab.pages.plan_page").run(arguments)
end

function M.demo(arguments)
  return stop.catch(require("lab.study.demo").run, arguments)
end

function M.tune(arguments)
  function arguments.find(sets)
    return arguments.project:find(arguments.spec, lists.join(arguments.set, sets))
  end
  return require("lab.tune.tune").run(arguments)
end

function M.report(arguments)
  return require("lab.study.report.report").run(arguments)
end

-- Runs a verb whose messages begin with its name.
local function run_named(module, arguments)
  local code, message = stop.catch(module.run, arguments)
  return code, message and ("longhand %s: %s"):format(arguments.verb, message)
end

function M.analyze(arguments)
  return run_named(require("lab.study.analyze.analyze"), arguments)
end

function M.runs(arguments)
  return run_named(require("lab.runs.runs"), arguments)
end

function M.calibrate(arguments)
  return run_named(require("lab.study.calibrate.calibrate"), arguments)
end

function M.export(arguments)
  local modules = { pytorch = require("lab.export.export_run"), csv = require("lab.export.csv"),
    tensorboard = require("lab.export.tensorboard") }
  return run_named(modules[arguments.what], arguments)
end

function M.sweep(arguments)
  local slurm, action = require("lab.study.slurm.slurm"), arguments.action
  require("lab.study.grid.requested_study").settle(arguments)
  local used = slurm.is_used(arguments)
  local of_slurm = { watch = true, resubmit = true, cancel = true, status = used }
  if arguments.slurm or of_slurm[action] then
    return slurm.run(arguments)
  end
  return action == "run" and used and slurm.make_way(arguments) or require("lab.study.run.sweep").run(arguments)
end

function M.bundle(arguments)
  require("lab.study.grid.requested_study").settle(arguments)
  return require("lab.study.bundle.bundle").run(arguments)
end

return M
