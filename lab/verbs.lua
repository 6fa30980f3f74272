-- The verbs of the lab. A verb loads its modules when it is called, so that no verb waits for modules of another.
--
-- Output: an exit code, and a message or nil. Input: the arguments of a verb, with fields that main.lua adds:
--   project   the project; project:find(SPEC, sets) returns a planned spec, also for a cell of a study (STUDY:CELL), or
--             nil and a message. sets, here and below: a list of FIELD=VALUE (--set), or nil
--   say(line)   prints a line
--   open()    returns the verb's planned spec with the choices that were tuned on this machine; or prints a message and
--             returns nil and an exit code
--   provide(SPEC, sets)   builds a trainer and returns three values: its folder, nil, and the flags that name the
--             spec's data files; or prints a message and returns nil and an exit code

local stop = require("lab.stop")

-- Makes a verb from the function `run` of the module that load(arguments) returns. prefix: the text before messages, or
-- nil.
local function make_verb(load, prefix)
  return function(arguments)
    local code, message = stop.catch(load(arguments).run, arguments)
    return code, message and (prefix or "") .. message
  end
end

local M = {
  plan = make_verb(function(arguments)
    return arguments.mask and require("lab.study.report.mask_picture") or require("lab.pages.plan_page")
  end),
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
  local has_submissions = slurm.is_used(arguments) -- a study was submitted into the folder of runs
  local actions_of_slurm = { watch = true, resubmit = true, cancel = true, status = has_submissions }
  if arguments.slurm or actions_of_slurm[action] then
    return slurm.run(arguments)
  end
  if action == "run" and has_submissions then
    slurm.prepare_local_sweep(arguments)
  end
  return require("lab.study.run.sweep").run(arguments)
end

function M.bundle(arguments)
  require("lab.study.grid.requested_study").settle(arguments)
  return require("lab.study.bundle.bundle").run(arguments)
end

return M
