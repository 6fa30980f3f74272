-- The verbs of the lab. Each loads its modules when it is called, so that no verb pays for another.
--
-- Input: the arguments of a verb with functions of main.lua: project, whose find(SPEC, sets) also knows cells of
-- studies; say(line); open(), the planned spec of the verb with the choices for this machine, or nil and an exit code
-- after a message; provide(SPEC, sets), which returns the folder of a trainer, or nil; an exit code after an error; and
-- the flags that name the trainer's files. Output: an exit code, and a message or nil.

local stop = require("lab.stop")

-- Makes a verb from the function `run` of the module that load() returns. prefix: the beginning of its messages.
local function make_verb(load, prefix)
  return function(arguments)
    local code, message = stop.catch(load(arguments).run, arguments)
    return code, message and (prefix or "") .. message
  end
end

local M = {
  plan = make_verb(function() return require("lab.pages.plan_page") end),
  demo = make_verb(function() return require("lab.study.demo") end),
  tune = make_verb(function() return require("lab.tune.tune") end),
  report = make_verb(function() return require("lab.study.report.report") end),
  analyze = make_verb(function() return require("lab.study.analyze.analyze") end, "longhand analyze: "),
  runs = make_verb(function() return require("lab.runs.runs") end, "longhand runs: "),
  calibrate = make_verb(function() return require("lab.study.calibrate.calibrate") end, "longhand calibrate: "),
  export = make_verb(function(arguments)
    return arguments.what == "pytorch" and require("lab.export.export_run")
      or arguments.what == "csv" and require("lab.export.csv") or require("lab.export.tensorboard")
  end, "longhand export: "),
}

function M.sweep(arguments)
  local slurm, action = require("lab.study.slurm.slurm"), arguments.action
  require("lab.study.grid.requested_study").settle(arguments)
  local used = slurm.is_used(arguments)
  local is_for_slurm = { watch = true, resubmit = true, cancel = true, status = used }
  if arguments.slurm or is_for_slurm[action] then
    return slurm.run(arguments)
  end
  if action == "run" and used then
    slurm.prepare_local_sweep(arguments)
  end
  return require("lab.study.run.sweep").run(arguments)
end

function M.bundle(arguments)
  require("lab.study.grid.requested_study").settle(arguments)
  return require("lab.study.bundle.bundle").run(arguments)
end

return M
